#include "report/generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/golden_testing.h"
#include "report/generate/example_generate.h"
#include "show/formats/formats_testing.h"
#include "show/subjects.h"

namespace etprof::show {
namespace {

using example::MakeStepExperiment;
using testing::HasSubstr;
using testing::Not;

std::string MakeGenerationText(std::vector<ExperimentData> experiments) {
  const Report report = example::MakeReportOfSteps(std::move(experiments));
  return read::RenderPage(MakeGenerationDocument(MakeGenerationReport(report).value()));
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

// The sentence about the cost of a position for two positions with these times of two launches, in ns.
std::string MakeSlopeText(const std::vector<double>& at_start, const std::vector<double>& after_100) {
  const std::string text = MakeGenerationText({MakeStepExperiment("a", "tg5", 1, 0, 5, at_start),
                                               MakeStepExperiment("a", "tg5 @ d100", 1, 100, 5, after_100)});
  for (const std::string& line : read::Lines(text)) {
    if (line.find("token in the cache") != std::string::npos) return line;
  }
  return "";
}

TEST(GenerationDocument, StatesASlopeOnlyIfItIsSignificant) {
  ExpectGoldenMessages("show/generation_slope",
                       {{"significant", MakeSlopeText({2e6, 2e6 + 10}, {3e6, 3e6})},
                        {"not significant", MakeSlopeText({2e6, 2e6 + 5e3}, {2e6 + 1000, 2e6})}});
}

}  // namespace
}  // namespace etprof::show
