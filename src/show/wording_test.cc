#include "show/wording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "show/subjects/run/report.h"

namespace etprof {
namespace {

TimeComparison Ratio(double low, double high, stats::Verdict verdict) {
  TimeComparison time_comparison;
  time_comparison.baseline_ns = 2e6;
  time_comparison.candidate_ns = 1e6;
  stats::RatioEstimate estimate;
  estimate.log_low = std::log(low);
  estimate.log_high = std::log(high);
  estimate.log_ratio = (estimate.log_low + estimate.log_high) / 2;
  time_comparison.estimate = estimate;
  time_comparison.verdict = verdict;
  return time_comparison;
}

TEST(VerdictWording, ShowTheVerdictWithItsInterval) {
  const VerdictTexts faster = MakeVerdictTexts(Ratio(1.82, 1.86, stats::Verdict::kFaster));
  EXPECT_EQ(faster.verdict, "1.84x faster");
  EXPECT_EQ(faster.interval, "[1.82, 1.86]");
  EXPECT_EQ(MakeVerdictTexts(Ratio(0.997, 1.004, stats::Verdict::kSame)).verdict, "same");
  EXPECT_EQ(MakeVerdictTexts(Ratio(0.997, 1.004, stats::Verdict::kSame)).interval, "[0.997, 1.004]");
}

TEST(VerdictWording, InvertRatioAndIntervalOfSlowdowns) {
  const VerdictTexts slower = MakeVerdictTexts(Ratio(0.5, 0.5 / 0.9, stats::Verdict::kSlower));
  EXPECT_EQ(slower.verdict, "1.90x slower");
  EXPECT_EQ(slower.interval, "[1.80, 2.00]");
}

TEST(VerdictWording, NeverPrintOneTimesSlower) {
  for (double distance = 1e-12; distance < 2; distance *= 1.7) {
    const std::string slower =
        MakeVerdictTexts(Ratio(1 / (1 + distance), 1 / (1 + distance), stats::Verdict::kSlower)).verdict;
    const std::string faster =
        MakeVerdictTexts(Ratio(1 + distance, 1 + distance, stats::Verdict::kFaster)).verdict;
    for (const std::string& text : {slower, faster}) {
      EXPECT_FALSE(text.starts_with("1x") || text.starts_with("1.0x") || text.starts_with("1.00x")) << text;
    }
    EXPECT_TRUE(slower.find("slower") != std::string::npos && faster.find("faster") != std::string::npos);
  }
}

TEST(VerdictWording, ExplainUndefinedSpeedups) {
  Report report;
  EXPECT_EQ(UndefinedText(report), "");
  EXPECT_EQ(AddUndefinedText("A paragraph.", report), "A paragraph.");
  const auto add = [&](stats::Verdict verdict) {
    report.comparisons.emplace_back().comparison.latency.verdict = verdict;
  };
  add(stats::Verdict::kContended);
  EXPECT_EQ(UndefinedText(report), "");  // each row says "contended"
  add(stats::Verdict::kSame);            // operators of this pair may be inconclusive
  EXPECT_EQ(UndefinedText(report), "—: inconclusive.");
  EXPECT_EQ(AddUndefinedText("A paragraph.", report), "A paragraph. —: inconclusive.");
  report.comparisons.clear();
  add(stats::Verdict::kEmulated);
  EXPECT_EQ(UndefinedText(report), "—: emulated.");
}

TEST(VerdictWording, ShowNoSpeedupForInconclusiveRatios) {
  const TimeComparison time_comparison = Ratio(0.95, 1.2, stats::Verdict::kInconclusive);
  EXPECT_EQ(SpeedupOrDash(time_comparison), kUndefined);
  EXPECT_EQ(IntervalText(time_comparison), "[0.95, 1.20]");
  EXPECT_EQ(MakeVerdictTexts(time_comparison).verdict, "inconclusive, 1.07x");
  EXPECT_EQ(SpeedupOrDash(Ratio(0.999, 1.001, stats::Verdict::kSame)), "same");
  EXPECT_EQ(SpeedupOrDash(Ratio(2, 3, stats::Verdict::kEmulated)), kUndefined);
  EXPECT_EQ(IntervalText(Ratio(2, 3, stats::Verdict::kEmulated)), kUndefined);
  EXPECT_EQ(SpeedupOrDash(Ratio(2, 3, stats::Verdict::kContended)), "contended");
  for (const auto& [low, high] : {std::pair(1e-9, 1e9), {1e-9, 2.0}, {0.5, 1e5}})
    EXPECT_EQ(IntervalText(Ratio(low, high, stats::Verdict::kInconclusive)), kUndefined);
}

TEST(VerdictWording, StateMissingIntervals) {
  TimeComparison time_comparison;
  time_comparison.baseline_ns = 2e6;
  time_comparison.candidate_ns = 1e6;
  EXPECT_EQ(MakeVerdictTexts(time_comparison).verdict, "2.00x, too few independent runs for an interval");
  EXPECT_EQ(MakeVerdictTexts(TimeComparison{}).verdict, kUndefined);
  time_comparison.baseline_ns = 0;
  EXPECT_EQ(MakeVerdictTexts(time_comparison).verdict, kUndefined);
}

StartupCost Cost(double low, double high, stats::Verdict verdict) {
  StartupCost cost;
  cost.estimate = Ratio(low, high, verdict).estimate;
  cost.verdict = verdict;
  return cost;
}

// A ratio is baseline over candidate, a change candidate over baseline; the change must be within its
// interval.
TEST(Costs, ChangesAreWithinTheirIntervals) {
  const StartupCost increase = Cost(0.74, 0.98, stats::Verdict::kSlower);  // the ratio is 0.852
  EXPECT_EQ(CostChangeText(increase), "+17%");
  EXPECT_EQ(CostIntervalText(increase), "[+2.0%, +35%]");
  const StartupCost decrease = Cost(1.0354, 1.3168, stats::Verdict::kFaster);  // the ratio is 1.1676
  EXPECT_EQ(CostChangeText(decrease), "−14%");
  EXPECT_EQ(CostIntervalText(decrease), "[−24%, −3.4%]");
  const StartupCost small_increase = Cost(0.965, 0.973, stats::Verdict::kSlower);
  EXPECT_EQ(CostChangeText(small_increase), "+3.2%");
  EXPECT_EQ(CostIntervalText(small_increase), "[+2.8%, +3.6%]");
}

TEST(Costs, UnknownChangesAreEmpty) {
  EXPECT_EQ(CostChangeText(Cost(0.9, 1.1, stats::Verdict::kInconclusive)), "");
  EXPECT_EQ(CostIntervalText(Cost(0.89, 1.09, stats::Verdict::kInconclusive)), "[−8.3%, +12%]");
  EXPECT_EQ(CostChangeText(Cost(0.9996, 1.0037, stats::Verdict::kSame)), "same");
  EXPECT_EQ(CostIntervalText(Cost(0.9996, 1.0037, stats::Verdict::kSame)), "[−0.4%, 0%]");
  EXPECT_EQ(CostIntervalText(Cost(1e-9, 2, stats::Verdict::kInconclusive)), "");
  EXPECT_EQ(CostIntervalText(Cost(1.9, 2.1, stats::Verdict::kEmulated)), "");
  EXPECT_EQ(CostIntervalText(StartupCost()), "");
}

TEST(RoundToUnits, AddUpToTheRoundedSum) {
  const TimeScale scale{1e6, "ms", 2};
  // Rounded separately, 3 x 3.33 would lack 0.01.
  EXPECT_EQ(RoundToUnits({{10e6 / 3, 10e6 / 3, 10e6 / 3}}, scale),
            (std::vector<std::int64_t>{334, 333, 333}));
  EXPECT_EQ(RoundToUnits({{1e6, -0.25e6}}, scale), (std::vector<std::int64_t>{100, -25}));
  EXPECT_EQ(scale.FormatUnits(-25), "−0.25");
  EXPECT_TRUE(RoundToUnits({}, scale).empty());
  // 1.004 + 1.004 = 2.008, and with the next part 2.012: both sums print as 2.01.
  EXPECT_EQ(RoundToUnits({{1.004e6, 1.004e6}, {}, {0.004e6}}, scale),
            (std::vector<std::int64_t>{101, 100, 0}));
  // The first sum was printed 0.004 too low, so the second sum is 2.02.
  EXPECT_EQ(RoundToUnits({{2.004e6}, {0.012e6}}, scale), (std::vector<std::int64_t>{200, 2}));
}

TEST(Scale, KeepsFourDigitsOfTheLargest) {
  const auto text = [](double ns) { return ScaleFor(ns, ns).Text(ns); };
  EXPECT_EQ(text(2'337'900), "2.338 ms");
  EXPECT_EQ(text(12'345'678), "12.35 ms");
  EXPECT_EQ(text(857'600'000), "857.6 ms");
  EXPECT_EQ(text(345'678), "345.7 µs");
  EXPECT_EQ(text(51), "0.051 µs");
}

TEST(Numbers, HaveSensibleDigits) {
  EXPECT_EQ(PercentText(0.214), "21%");
  EXPECT_EQ(PercentText(0.0042), "0.4%");
  EXPECT_EQ(PercentText(0.0001), "<0.1%");
  EXPECT_EQ(PercentText(0.997), ">99%");
  EXPECT_EQ(PercentText(1), "100%");
  EXPECT_EQ(PercentText(0), "0%");
  EXPECT_EQ(PercentText(-0.1), "−10%");
  EXPECT_EQ(PercentText(-0.012), "−1.2%");
  EXPECT_EQ(PercentText(-0.0001), ">−0.1%");
  EXPECT_EQ(PercentText(NAN), kUndefined);
  EXPECT_EQ(RatioText(1.837), "1.84x");
  EXPECT_EQ(RatioText(12.34), "12.34x");
  EXPECT_EQ(RatioText(0.123), "0.12x");
  EXPECT_EQ(RatioText(0.002875), "0.0029x");
  EXPECT_EQ(RatioText(1.013), "1.01x");
  EXPECT_EQ(RatioText(1.0004), "1.0004x");  // a change is never printed as 1.00x
  EXPECT_EQ(RatioText(0.9968), "0.997x");
  EXPECT_EQ(RatioText(1), "1.00x");
  EXPECT_EQ(RelativeText(0.0042), "0.42%");
}

TEST(TailQuantile, NeedsEnoughRunsForAQuantile) {
  stats::Distribution latency;
  latency.n = 99;
  latency.max = 7;
  latency.p99 = 6;
  EXPECT_STREQ(HighestQuantile(latency).name, "max");
  latency.n = 100;
  EXPECT_STREQ(HighestQuantile(latency).name, "p99");
}

TEST(HeaderText, NamesAMethodOtherThanForward) {
  Report report;
  report.model_id = "llm";
  EXPECT_EQ(HeaderText(report), "llm");
  report.run.model_info = R"({"methods": {"forward": {}}})";
  EXPECT_EQ(NonDefaultMethod(report), "");
  report.run.model_info = R"({"methods": {"forward": {}, "prefill": {}}})";
  EXPECT_EQ(HeaderText(report), "llm · method forward");
  report.run.model_info.clear();
  report.run.method = "decode";
  EXPECT_EQ(HeaderText(report), "llm · method decode");
  report.run.model_info = "[no JSON";
  EXPECT_EQ(NonDefaultMethod(report), "decode");
  const std::vector<show::Fact> facts = show::RunFacts(report).facts;
  EXPECT_TRUE(std::ranges::any_of(
      facts, [](const show::Fact& fact) { return fact.name == "Method" && fact.value == "decode"; }));
  report.from_bare_etdumps = true;  // a bare trace does not say which method ran
  EXPECT_EQ(NonDefaultMethod(report), "");
}

TEST(VerdictWithBaseline, NamesTheBaseline) {
  TimeComparison time_comparison;
  EXPECT_EQ(VerdictWithBaseline(time_comparison, "off"), kUndefined);
  time_comparison.baseline_ns = 2;
  time_comparison.candidate_ns = 1;
  EXPECT_EQ(VerdictWithBaseline(time_comparison, "off"),
            "2.00x compared with off, too few independent runs for an interval");
  time_comparison.estimate.emplace();
  time_comparison.estimate->log_ratio = std::log(2.0);
  EXPECT_EQ(VerdictWithBaseline(time_comparison, "off"), "inconclusive, 2.00x compared with off");
  time_comparison.verdict = stats::Verdict::kFaster;
  EXPECT_EQ(VerdictWithBaseline(time_comparison, "off"), "2.00x faster than off");
  time_comparison.verdict = stats::Verdict::kSame;
  EXPECT_EQ(VerdictWithBaseline(time_comparison, "off"), "same as off");
  time_comparison.verdict = stats::Verdict::kEmulated;
  EXPECT_EQ(VerdictWithBaseline(time_comparison, "off"), "emulated CPU: timings not meaningful");
}

TEST(MakeBoundsCell, OmitsIntervalsWithoutInformation) {
  EXPECT_EQ(MakeBoundsCell(std::nullopt).kind, CellKind::kNoValue);
  EXPECT_EQ(MakeBoundsCell(LatencyInterval{2'300, 140'306'000, 0.95, 2}).kind, CellKind::kNoValue);
  const show::Cell cell = MakeBoundsCell(LatencyInterval{100'000, 380'000, 0.95, 2});
  EXPECT_EQ(cell.low, 100'000);
  EXPECT_EQ(cell.high, 380'000);
}

}  // namespace
}  // namespace etprof
