#include "report/bisection.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(Bisection, ComparisonsShareTheProbabilityOfAWrongVerdict) {
  const BisectionStep measured_step;
  BisectionStep other_step;
  other_step.measured = false;
  for (const std::size_t planned : {1U, 7U, 12U}) {
    Bisection bisection;
    double sum = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      const double probability = bisection.NextErrorProbability(0.05, planned);
      if (i < planned) {
        EXPECT_DOUBLE_EQ(probability, 0.025 / static_cast<double>(planned));
      }
      sum += probability;
      bisection.steps.insert(bisection.steps.end(), {measured_step, other_step});
    }
    EXPECT_LT(sum, 0.05);
    EXPECT_GT(sum, 0.0498);
  }
}

}  // namespace
}  // namespace etprof
