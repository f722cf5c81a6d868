#include "stats/ratio/launches.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "stats/ratio/simulated_launches_testing.h"

namespace etprof::stats {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

TEST(LaunchEffect, IsTheMedianRoundAndAboveZeroWhenTheCandidateIsFaster) {
  const LaunchBursts launch{{200, 200, 200}, {100, 50, 190}};
  EXPECT_DOUBLE_EQ(*LaunchEffect(launch), std::log(2));
}

TEST(LaunchEffect, IgnoresRoundsWithAMissingBurst) {
  EXPECT_DOUBLE_EQ(*LaunchEffect({{200, kMissing, 300, 0}, {100, 1, kMissing, 5}}), std::log(2));
  EXPECT_EQ(LaunchEffect({{200, kMissing}, {kMissing, 100}}), std::nullopt);
  EXPECT_EQ(LaunchEffect({}), std::nullopt);
  EXPECT_THROW(LaunchEffect({{1, 2}, {1}}), std::invalid_argument);
}

TEST(EstimateRatio, NeedsTwoLaunches) {
  EXPECT_FALSE(EstimateRatio(std::vector<double>{0.1}, 0.95));
  EXPECT_FALSE(EstimateRatio(std::vector<double>{0.1, kMissing}, 0.95));
  EXPECT_TRUE(EstimateRatio(std::vector<double>{0.1, 0.2}, 0.95));
}

TEST(EstimateRatio, MatchesAHandComputedT) {
  const RatioEstimate e = *EstimateRatio(std::vector<double>{0.1, 0.2, 0.3}, 0.95);
  EXPECT_NEAR(e.log_ratio, 0.2, 1e-15);
  EXPECT_NEAR(e.standard_error, 0.1 / std::sqrt(3.0), 1e-15);
  EXPECT_NEAR(e.log_high - e.log_ratio, 4.302652729749464 * 0.1 / std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(*e.p_value, 0.0741799002274486, 1e-12);
  EXPECT_EQ(e.launches, 3);
  EXPECT_DOUBLE_EQ(e.ratio(), std::exp(0.2));
  EXPECT_NEAR(e.half_width(), std::sqrt(e.high() / e.low()) - 1, 1e-12);
}

TEST(EstimateRatio, TimesHaveTheRatioAndTheGeometricMean) {
  const std::vector<LaunchBursts> launches = {{{400, 100, kMissing}, {100, 100, 3}},
                                              {{200, 800, 50}, {50, 400, 100}}};
  const RatioEstimate e = *EstimateRatio(launches, 0.95);
  EXPECT_NEAR(*e.baseline() / *e.candidate(), e.ratio(), 1e-12);
  // The first launch has geometric means of 200 and 100, the second of 100, 565.7 and 70.7.
  EXPECT_NEAR(*e.baseline() * *e.candidate(), std::sqrt(200.0 * 100) * 100, 1e-9);
  EXPECT_FALSE(EstimateRatio(std::vector<double>{0.1, 0.2}, 0.95)->baseline());
}

TEST(EstimateRatio, WithoutSpreadIsAPoint) {
  const RatioEstimate same = *EstimateRatio(std::vector<double>{0, 0, 0}, 0.95);
  EXPECT_EQ(same.log_low, 0);
  EXPECT_EQ(same.log_high, 0);
  EXPECT_EQ(same.p_value, std::nullopt);
  const RatioEstimate other = *EstimateRatio(std::vector<double>{0.5, 0.5, 0.5}, 0.95);
  EXPECT_EQ(other.p_value, 0);
  EXPECT_EQ(other.half_width(), 0);
}

TEST(EstimateRatio, ExchangingTheVariantsOnlyChangesTheSign) {
  SimulatedLaunches simulation{.true_log_ratio = 0.02, .launch_sd = 0.01, .round_sd = 0.02};
  std::vector<LaunchBursts> launches;
  std::vector<LaunchBursts> exchanged;
  for (int i = 0; i < 10; ++i) {
    launches.push_back(simulation.Next());
    exchanged.push_back({launches.back().candidate, launches.back().baseline});
  }
  const RatioEstimate original = *EstimateRatio(launches, 0.95);
  const RatioEstimate mirrored = *EstimateRatio(exchanged, 0.95);
  EXPECT_NEAR(original.log_low, -mirrored.log_high, 1e-14);
  EXPECT_NEAR(*original.p_value, *mirrored.p_value, 1e-12);
  EXPECT_EQ(original.rounds, 70);
}

TEST(WithConfidence, EqualsTheDirectEstimate) {
  const std::vector<double> effects{0.011, 0.023, -0.004, 0.018, 0.009};
  const RatioEstimate direct = *EstimateRatio(effects, 0.99);
  const RatioEstimate derived = WithConfidence(*EstimateRatio(effects, 0.95), 0.99);
  EXPECT_EQ(direct.log_low, derived.log_low);
  EXPECT_EQ(direct.log_high, derived.log_high);
  EXPECT_EQ(derived.confidence, 0.99);
  EXPECT_TRUE(std::isinf(WithConfidence(direct, 1).half_width()));
}

TEST(SystematicError, WidensEveryIntervalAndTheTestAgrees) {
  const std::vector<double> effects = {0.020, 0.024, 0.028, 0.021, 0.027};
  const RatioEstimate estimate = *EstimateRatio(effects, 0.95);
  for (const double error : {0.0, 0.01, 0.02, 0.023, 0.03}) {
    const RatioEstimate with_error = WithSystematicError(estimate, error);
    EXPECT_EQ(with_error.log_ratio, estimate.log_ratio);
    for (const double confidence : {0.5, 0.95, 0.999}) {
      const RatioEstimate plain = WithConfidence(estimate, confidence);
      const RatioEstimate wide = WithConfidence(with_error, confidence);
      EXPECT_NEAR(wide.log_low, plain.log_low - error, 1e-15);
      EXPECT_NEAR(wide.log_high, plain.log_high + error, 1e-15);
      EXPECT_EQ(wide.log_low > 0, *with_error.p_value < 1 - confidence) << error << " " << confidence;
    }
  }
  EXPECT_EQ(WithSystematicError(estimate, 0.03).p_value, 1);
}

TEST(MarkUnresolved, ReachesARatioOfOneAtEveryConfidence) {
  for (const double sign : {1.0, -1.0}) {
    const RatioEstimate estimate =
        *EstimateRatio(std::vector<double>{sign * 0.50, sign * 0.52, sign * 0.54}, 0.95);
    const RatioEstimate unresolved = MarkUnresolved(estimate);
    EXPECT_EQ(unresolved.p_value, 1);
    EXPECT_EQ(unresolved.log_ratio, estimate.log_ratio);
    for (const double confidence : {0.5, 0.95, 0.999}) {
      const RatioEstimate wide = WithConfidence(unresolved, confidence);
      const RatioEstimate plain = WithConfidence(estimate, confidence);
      EXPECT_EQ(wide.log_low, std::min(0.0, plain.log_low));
      EXPECT_EQ(wide.log_high, std::max(0.0, plain.log_high));
    }
  }
}

// The share of simulated comparisons whose 95% interval contains the true ratio.
template <typename Estimate>
double Coverage(SimulatedLaunches simulation, int launches, const Estimate& estimate) {
  constexpr int kComparisons = 4000;  // a standard error of 0.35 % on the coverage
  int covered = 0;
  for (int i = 0; i < kComparisons; ++i) {
    std::vector<LaunchBursts> measured;
    for (int launch = 0; launch < launches; ++launch) measured.push_back(simulation.Next());
    covered += Covers(estimate(measured), simulation.true_log_ratio);
  }
  return static_cast<double>(covered) / kComparisons;
}

RatioEstimate ByLaunches(const std::vector<LaunchBursts>& launches) { return *EstimateRatio(launches, 0.95); }

RatioEstimate ByRounds(const std::vector<LaunchBursts>& launches) {
  std::vector<double> effects;
  for (const LaunchBursts& launch : launches) {
    for (std::size_t i = 0; i < launch.baseline.size(); ++i) {
      effects.push_back(std::log(launch.baseline[i] / launch.candidate[i]));
    }
  }
  return *EstimateRatio(effects, 0.95);
}

class CoverageOfLaunches : public ::testing::TestWithParam<double> {};

TEST_P(CoverageOfLaunches, IsNominalWhateverTheRatioOfLaunchToRoundNoise) {
  const double noise_ratio = GetParam();
  const SimulatedLaunches simulation{
      .true_log_ratio = std::log(1.02), .launch_sd = 0.02 * noise_ratio, .round_sd = 0.02};
  for (const int launches : {5, 10, 20}) {
    const double coverage = Coverage(simulation, launches, ByLaunches);
    EXPECT_GT(coverage, 0.93) << launches;
    EXPECT_LT(coverage, 0.97) << launches;
  }
}

INSTANTIATE_TEST_SUITE_P(NoiseRatios, CoverageOfLaunches, ::testing::Values(0.0, 0.5, 1.0, 2.0));

TEST(CoverageOfRounds, IsNominalOnlyWithoutLaunchNoise) {
  SimulatedLaunches simulation{.true_log_ratio = std::log(1.02), .launch_sd = 0, .round_sd = 0.02};
  EXPECT_GT(Coverage(simulation, 10, ByRounds), 0.93);
  simulation.launch_sd = 0.01;
  EXPECT_LT(Coverage(simulation, 10, ByRounds), 0.91);
  simulation.launch_sd = 0.02;
  EXPECT_LT(Coverage(simulation, 10, ByRounds), 0.75);
}

TEST(CoverageOfLaunchesWithDisturbance, SurvivesBurstsThatWereDisturbed) {
  const SimulatedLaunches simulation{
      .true_log_ratio = std::log(1.02), .launch_sd = 0.01, .round_sd = 0.01, .share_disturbed = 0.1};
  const double coverage = Coverage(simulation, 10, ByLaunches);
  EXPECT_GT(coverage, 0.93);
  EXPECT_LT(coverage, 0.97);
}

}  // namespace
}  // namespace etprof::stats
