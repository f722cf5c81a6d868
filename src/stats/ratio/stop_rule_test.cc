#include "stats/ratio/stop_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "stats/ratio/simulated_launches_testing.h"

namespace etprof::stats {
namespace {

constexpr double kNoTimeLimit = std::numeric_limits<double>::infinity();

RatioEstimate WithHalfWidth(double relative) {
  RatioEstimate estimate;
  estimate.log_low = -std::log1p(relative);
  estimate.log_high = std::log1p(relative);
  return estimate;
}

TEST(DecideStop, StopsWhenPreciseEnough) {
  const StopDecision decision = DecideStop(MakeStopRule(), 14, WithHalfWidth(0.0042), 0.005, 10, 60, 1);
  EXPECT_TRUE(decision.stop);
  EXPECT_EQ(decision.reason, "half-width 0.42% is within 0.5%");
}

TEST(DecideStop, AddsLaunchesUntilTheNextAnalysis) {
  const StopDecision decision = DecideStop(MakeStopRule(), 14, WithHalfWidth(0.006), 0.005, 10, 60, 1);
  EXPECT_FALSE(decision.stop);
  EXPECT_EQ(decision.next_launches, 20);
}

TEST(DecideStop, IgnoresPrecisionBetweenAnalyses) {
  const StopDecision decision = DecideStop(MakeStopRule(), 12, WithHalfWidth(0.001), 0.005, 10, 60, 1);
  EXPECT_FALSE(decision.stop);
  EXPECT_EQ(decision.next_launches, 14);
}

TEST(DecideStop, StopsWhenTheNextAnalysisDoesNotFit) {
  const StopRule rule = MakeStopRule();
  EXPECT_FALSE(DecideStop(rule, 10, WithHalfWidth(0.02), 0.005, 40, 60, 5).stop);  // 14 launches end at 60 s
  const StopDecision decision = DecideStop(rule, 10, WithHalfWidth(0.02), 0.005, 41, 60, 5);
  EXPECT_TRUE(decision.stop);
  EXPECT_EQ(decision.reason, "14 launches would take longer than 60 s");
  EXPECT_EQ(decision.next_launches, 10);
}

TEST(DecideStop, MeasuresASlowModelWithFewLaunches) {
  const StopRule rule = MakeStopRule();
  EXPECT_EQ(DecideStop(rule, 0, std::nullopt, 0.005, 0, 60, 0).next_launches, 1)
      << "to find out how long a launch takes";
  EXPECT_EQ(DecideStop(rule, 1, std::nullopt, 0.005, 9, 60, 9).next_launches, 6);
  EXPECT_FALSE(DecideStop(rule, 5, WithHalfWidth(0.001), 0.005, 45, 60, 9).stop);
  const StopDecision after_six = DecideStop(rule, 6, WithHalfWidth(0.1), 0.005, 54, 60, 9);
  EXPECT_TRUE(after_six.stop);
  EXPECT_EQ(after_six.reason, "10 launches would take longer than 60 s");
}

TEST(DecideStop, TakesAtLeastTwoLaunches) {
  const StopRule rule = MakeStopRule();
  const StopDecision after_one = DecideStop(rule, 1, std::nullopt, 0.005, 100, 60, 100);
  EXPECT_FALSE(after_one.stop);
  EXPECT_EQ(after_one.next_launches, 2);
  EXPECT_TRUE(DecideStop(rule, 2, WithHalfWidth(0.1), 0.005, 200, 60, 100).stop);
}

TEST(DecideStop, EndsAtTheLastAnalysis) {
  const StopRule rule = MakeStopRule();
  const StopDecision decision =
      DecideStop(rule, rule.interim_launches.back(), WithHalfWidth(0.1), 0.005, 1, kNoTimeLimit, 1);
  EXPECT_TRUE(decision.stop);
  EXPECT_EQ(decision.reason, "160 launches are the most that are measured");
}

TEST(MakeStopRule, RefusesConfidencesOutsideOfItsCalibration) {
  EXPECT_NEAR(MakeStopRule(0.95).interim_confidence, 0.963, 5e-4);
  EXPECT_THROW(MakeStopRule(0.9999), std::invalid_argument);
  EXPECT_THROW(MakeStopRule(95), std::invalid_argument);
}

struct Outcome {
  double coverage = 0;
  double mean_launches = 0;
};

Outcome Measure(const StopRule& rule, SimulatedLaunches simulation, double precision, double max_seconds,
                int measurements) {
  Outcome outcome;
  for (int i = 0; i < measurements; ++i) {
    std::vector<double> effects;
    std::optional<RatioEstimate> estimate;
    for (;;) {
      const auto launches = static_cast<int>(effects.size());
      const StopDecision decision = DecideStop(rule, launches, estimate, precision, launches, max_seconds, 1);
      if (decision.stop) break;
      for (int k = launches; k < decision.next_launches; ++k)
        effects.push_back(*LaunchEffect(simulation.Next()));
      estimate = EstimateRatio(effects, rule.interim_confidence);
    }
    outcome.coverage += Covers(*estimate, simulation.true_log_ratio);
    outcome.mean_launches += static_cast<double>(effects.size());
  }
  outcome.coverage /= measurements;
  outcome.mean_launches /= measurements;
  return outcome;
}

SimulatedLaunches Noise(double noise_ratio) {
  return {.true_log_ratio = std::log(1.02), .launch_sd = 0.02 * noise_ratio, .round_sd = 0.02};
}

// The mean half-width after ten launches with this noise, from which the precisions below are derived.
double TypicalHalfWidth(const StopRule& rule, double noise_ratio) {
  SimulatedLaunches simulation = Noise(noise_ratio);
  double sum = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<double> effects;
    for (int k = 0; k < 10; ++k) effects.push_back(*LaunchEffect(simulation.Next()));
    sum += EstimateRatio(effects, rule.interim_confidence)->half_width();
  }
  return sum / 500;
}

class CoverageOfStopRule : public ::testing::TestWithParam<double> {};

TEST_P(CoverageOfStopRule, IsNominalHoweverItStops) {
  constexpr int kMeasurements = 3000;
  const double noise_ratio = GetParam();
  const StopRule rule = MakeStopRule();
  const double typical = TypicalHalfWidth(rule, noise_ratio);
  const auto expect_nominal = [&](double coverage, const char* when) {
    EXPECT_GT(coverage, 0.93) << when;
    EXPECT_LT(coverage, 0.97) << when;
  };

  const Outcome at_once = Measure(rule, Noise(noise_ratio), 5 * typical, kNoTimeLimit, kMeasurements);
  EXPECT_LT(at_once.mean_launches, 10.5);
  expect_nominal(at_once.coverage, "at the first interim analysis");

  const Outcome soon = Measure(rule, Noise(noise_ratio), 0.8 * typical, kNoTimeLimit, kMeasurements);
  EXPECT_GT(soon.mean_launches, 11);
  expect_nominal(soon.coverage, "at one of the first interim analyses");

  const Outcome late = Measure(rule, Noise(noise_ratio), 0.5 * typical, kNoTimeLimit, kMeasurements / 2);
  EXPECT_GT(late.mean_launches, 28);
  expect_nominal(late.coverage, "after many interim analyses");

  const Outcome end = Measure(rule, Noise(noise_ratio), 0, 30, kMeasurements);
  EXPECT_EQ(end.mean_launches, 28);
  expect_nominal(end.coverage, "when time is up");

  const Outcome slow_model = Measure(rule, Noise(noise_ratio), 0, 4, kMeasurements);
  EXPECT_EQ(slow_model.mean_launches, 4);
  expect_nominal(slow_model.coverage, "before the first interim analysis");
}

INSTANTIATE_TEST_SUITE_P(NoiseRatios, CoverageOfStopRule, ::testing::Values(0.0, 0.5, 1.0, 2.0));

// The calibration is necessary and sufficient: at the worst precision, intervals at plain 95% undercover, and
// the calibrated intervals do not.
TEST(StopRuleCalibration, AdjustedLevelsAreNeededAndSuffice) {
  constexpr int kMeasurements = 10000;  // a standard error of 0.22 % at 95 %
  for (const double confidence : {0.90, 0.95}) {
    const SimulatedLaunches noise{.true_log_ratio = 0.02, .launch_sd = 0.02, .rounds = 1};
    const double worst_precision = 0.02 * (confidence < 0.92 ? 0.40 : 0.45);
    const StopRule adjusted = MakeStopRule(confidence);
    StopRule plain = adjusted;
    plain.interim_confidence = confidence;
    EXPECT_LT(Measure(plain, noise, worst_precision, kNoTimeLimit, kMeasurements).coverage,
              confidence - 0.01);
    EXPECT_GT(Measure(adjusted, noise, worst_precision, kNoTimeLimit, kMeasurements).coverage,
              confidence - 0.005);
  }
}

}  // namespace
}  // namespace etprof::stats
