#include "render/speedup_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "render/json/json.h"
#include "render/page/markdown.h"
#include "render/screen/terminal.h"
#include "report/example_run.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

// 4x, of which the peak is 2x.
Report WithFactors(double candidate_of_peak) {
  Report report = example::MakePair();
  SpeedupFactors& factors = report.comparisons[0].factors.emplace();
  factors.dtype = "fp32";
  factors.operators = 7;
  factors.macs = 1000;
  factors.share_of_baseline = 0.78;
  factors.baseline_peak = 60e9;
  factors.candidate_peak = 120e9;
  factors.baseline_of_peak = 0.37;
  factors.candidate_of_peak = candidate_of_peak;
  factors.ratio.log_ratio = std::log(factors.peak() * factors.use());
  factors.ratio.log_low = factors.ratio.log_ratio - 0.01;
  factors.ratio.log_high = factors.ratio.log_ratio + 0.01;
  return report;
}

std::string ScreenOfPair(const Report& report) {
  std::ostringstream out;
  TerminalOptions options;
  options.width = 200;
  RenderTerminal(report, options, out);
  return out.str();
}

TEST(SpeedupWords, SayBothFactors) {
  EXPECT_EQ(
      FactorsText(WithFactors(0.85).comparisons[0]),
      "Of 4.59x in 7 compute-bound operators (78% of off), 2.00x is peak performance (fp32) and 2.30x is "
      "better use of it (37% to 85% of peak).");
  EXPECT_THAT(
      FactorsText(WithFactors(0.3).comparisons[0]),
      HasSubstr("2.00x is peak performance (fp32) and 0.81x is worse use of it (37% to 30% of peak)."));
  EXPECT_THAT(FactorsText(WithFactors(0.371).comparisons[0]), HasSubstr("1.00x is the same use of it"));
}

TEST(SpeedupWords, StandUnderTheVerdictAndInEveryFormat) {
  const Report report = WithFactors(0.85);
  const std::string text = FactorsText(report.comparisons[0]);
  EXPECT_THAT(ScreenOfPair(report), HasSubstr("2.50x faster  [2.497, 2.497]\n  " + text + "\n"));
  std::ostringstream markdown, json;
  RenderMarkdown(report, markdown);
  EXPECT_THAT(markdown.str(), HasSubstr("2.00x is peak performance"));
  RenderAnalysisJson(report, json);
  const auto factors = nlohmann::json::parse(json.str())["comparisons"][0]["speedup_factors"];
  EXPECT_EQ(factors["text"], text);
  EXPECT_DOUBLE_EQ(factors["peak_ratio"], 2);
  EXPECT_NEAR(factors["peak_ratio"].get<double>() * factors["use_ratio"].get<double>(),
              factors["ratio"].get<double>(), 1e-9);
}

TEST(SpeedupWords, WithoutFactorsNothingIsSaid) {
  const Report report = example::MakePair();
  EXPECT_EQ(FactorsText(report.comparisons[0]), "");
  EXPECT_THAT(ScreenOfPair(report), Not(HasSubstr("peak performance")));
  std::ostringstream json;
  RenderAnalysisJson(report, json);
  EXPECT_TRUE(nlohmann::json::parse(json.str())["comparisons"][0]["speedup_factors"].is_null());
}

}  // namespace
}  // namespace etprof
