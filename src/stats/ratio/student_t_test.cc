#include "stats/ratio/student_t.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace etprof::stats {
namespace {

constexpr double kInfiniteDegrees = std::numeric_limits<double>::infinity();

TEST(StudentT, MatchesThePrintedTables) {
  EXPECT_NEAR(CriticalValue(0.95, 9), 2.262157, 1e-6);
  EXPECT_NEAR(CriticalValue(0.99, 1), 63.65674, 1e-5);
  EXPECT_NEAR(CriticalValue(0.95, kInfiniteDegrees), 1.959964, 1e-6);
}

TEST(StudentT, PIsTheInverseOfTheCriticalValue) {
  for (const double dof : {1.0, 3.5, 9.0, 159.0}) {
    for (const double confidence : {0.5, 0.95, 0.9999}) {
      EXPECT_NEAR(TwoSidedP(-CriticalValue(confidence, dof), dof), 1 - confidence, 1e-12);
    }
  }
}

TEST(StudentT, HandlesExtremeArguments) {
  EXPECT_EQ(CriticalValue(1, 9), kInfiniteDegrees);
  EXPECT_EQ(TwoSidedP(kInfiniteDegrees, 9), 0);
  EXPECT_EQ(TwoSidedP(0, 9), 1);
  EXPECT_THROW(CriticalValue(0, 9), std::invalid_argument);
  EXPECT_THROW(CriticalValue(1.5, 9), std::invalid_argument);
}

}  // namespace
}  // namespace etprof::stats
