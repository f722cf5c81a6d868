#include "report/generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/generate/example_generate.h"
#include "show/formats.h"
#include "show/subjects.h"

namespace etprof::show {
namespace {

using example::MakeStepExperiment;
using testing::HasSubstr;
using testing::Not;

std::string MakeGenerationText(std::vector<ExperimentData> experiments) {
  const Report report = example::MakeReportOfSteps(std::move(experiments));
  std::ostringstream out;
  RenderDocumentMarkdown(MakeGenerationDocument(MakeGenerationReport(report).value()), 1, out);
  return out.str();
}

ExperimentData MakeThreadsExperiment(const std::string& variant, int threads) {
  ExperimentData data = MakeStepExperiment(variant, "tg5", 1, 2, 5, {2e6, 2e6});
  data.name += std::to_string(threads);
  data.threads = threads;
  return data;
}

TEST(GenerationDocument, NamesTheThreadsOfAVariantOnce) {
  const std::string named =
      MakeGenerationText({MakeThreadsExperiment("1 thread", 1), MakeThreadsExperiment("2 threads", 2)});
  EXPECT_THAT(named, HasSubstr("| 2 threads |"));
  EXPECT_THAT(named, Not(HasSubstr("threads, 2 threads")));
  const std::string unnamed =
      MakeGenerationText({MakeThreadsExperiment("as it is", 1), MakeThreadsExperiment("as it is", 2)});
  EXPECT_THAT(unnamed, HasSubstr("| as it is, 2 threads |"));
}

// A text on two positions whose times differ by `slope` ns per token, and by `noise` ns between launches.
std::string MakeSlopeText(double slope, double noise) {
  return MakeGenerationText({MakeStepExperiment("a", "tg5", 1, 0, 5, {2e6, 2e6 + noise}),
                             MakeStepExperiment("a", "tg5 @ d100", 1, 100, 5, {2e6 + 100 * slope, 2e6})});
}

TEST(GenerationDocument, StatesASlopeOnlyIfItIsSignificant) {
  const std::string text = MakeGenerationText({MakeStepExperiment("a", "tg5", 1, 0, 5, {2e6, 2e6 + 10}),
                                               MakeStepExperiment("a", "tg5 @ d100", 1, 100, 5, {3e6, 3e6})});
  EXPECT_THAT(text, HasSubstr("Each token in the cache adds 10.0 µs \\["));
  EXPECT_THAT(MakeSlopeText(10, 5e3), HasSubstr("Steps are not measurably slower at later positions: each "
                                                "token in the cache adds"));
  EXPECT_THAT(MakeSlopeText(10, 5e3), Not(HasSubstr("adds −")));
}

}  // namespace
}  // namespace etprof::show
