#include "stats/ratio/unpaired.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "stats/distribution.h"
#include "stats/ratio/simulated_launches_testing.h"

namespace etprof::stats {
namespace {

// Latencies around 1 ms with 2 % noise, with a `correlation` between the noise of consecutive runs.
std::vector<double> MakeCorrelatedRuns(std::mt19937_64& random, std::size_t n, double correlation) {
  std::normal_distribution<double> normal;
  std::vector<double> runs;
  double noise = normal(random);
  for (std::size_t i = 0; i < n; ++i) {
    runs.push_back(1e6 * std::exp(0.02 * noise));
    noise = correlation * noise + std::sqrt(1 - correlation * correlation) * normal(random);
  }
  return runs;
}

TEST(AutocorrelationTime, GrowsWithTheCorrelation) {
  std::mt19937_64 random(8);
  EXPECT_LT(AutocorrelationTime(MakeCorrelatedRuns(random, 20000, 0)), 1.1);
  // The time of the indicator of a normal AR(1) is the sum over lags of (2 / pi) asin(0.8^k), doubled, plus 1
  // = 6.6.
  const double time = AutocorrelationTime(MakeCorrelatedRuns(random, 20000, 0.8));
  EXPECT_GT(time, 5.6);
  EXPECT_LT(time, 7.6);
  EXPECT_EQ(AutocorrelationTime(std::vector<double>(100, 1.0)), 1);
  EXPECT_EQ(AutocorrelationTime({}), 1);
}

TEST(BatchLength, IsAtLeastTheCubeRootAndAtMostAFifth) {
  std::mt19937_64 random(9);
  EXPECT_EQ(BatchLength(MakeCorrelatedRuns(random, 20000, 0)), 28U);
  EXPECT_GT(BatchLength(MakeCorrelatedRuns(random, 20000, 0.8)), 28U);
  std::vector<double> drifting;
  for (int i = 0; i < 50; ++i) drifting.push_back(1e6 + i);
  EXPECT_EQ(BatchLength(drifting), 10U);
  EXPECT_EQ(BatchLength(std::vector<double>{1, 2, 3}), 1U);
}

struct Intervals {
  double with_interval = 0;  // share of the comparisons with an interval
  double wrong = 0;          // share of all comparisons whose interval misses the truth
};
Intervals Simulate(std::size_t n, double correlation) {
  std::mt19937_64 random(10);
  constexpr int kComparisons = 200;
  Intervals outcome;
  for (int i = 0; i < kComparisons; ++i) {
    const std::vector<double> baseline = MakeCorrelatedRuns(random, n, correlation);
    const std::vector<double> candidate = MakeCorrelatedRuns(random, n, correlation);
    const auto estimate = EstimateUnpaired(baseline, candidate, 0.95, static_cast<std::uint64_t>(i));
    if (!estimate) continue;
    outcome.with_interval += 1.0 / kComparisons;
    if (!Covers(*estimate, 0)) outcome.wrong += 1.0 / kComparisons;
  }
  return outcome;
}

// With batches alone (at most a fifth of the series long), 16% and 24% of the intervals of 60 runs were
// wrong.
TEST(EstimateUnpaired, IsSeldomWrongAtAnyAutocorrelation) {
  for (const std::size_t n : {60U, 200U}) {
    for (const double correlation : {0.0, 0.9, 0.95})
      EXPECT_LT(Simulate(n, correlation).wrong, 0.08) << n << ' ' << correlation;
  }
}

TEST(EstimateUnpaired, AcceptsIndependentRunsAndDoesNotOverstateTheirNoise) {
  EXPECT_GT(Simulate(20, 0).with_interval, 0.97);
  const Intervals independent = Simulate(200, 0);
  EXPECT_NEAR(independent.with_interval, 1, 1e-9);
  EXPECT_GT(independent.wrong, 0.01);
  EXPECT_GT(Simulate(200, 0.8).with_interval, 0.97);
}

TEST(EstimateUnpaired, RefusesRunsWithAFewIndependentOnes) {
  EXPECT_LT(Simulate(60, 0.98).with_interval, 0.25);
  std::mt19937_64 random(13);
  EXPECT_LT(IndependentRuns(MakeCorrelatedRuns(random, 60, 0.98)), kMinIndependentRuns);
  // At a correlation of 0.8, 6.6 runs are worth one independent run, as in the test above.
  EXPECT_NEAR(IndependentRuns(MakeCorrelatedRuns(random, 20000, 0.8)), 20000 / 6.6, 500);
  EXPECT_NEAR(IndependentRuns(MakeCorrelatedRuns(random, 20000, 0)), 20000, 1500);
  EXPECT_EQ(IndependentRuns(std::vector<double>(40, 2.0)), 40);
  EXPECT_EQ(IndependentRuns(std::vector<double>(1, 2.0)), 0);
}

// Batches are necessary: Welch's t over single runs, with the sd of independent runs, undercovers.
TEST(EstimateUnpaired, WelchsTOverSingleRunsUndercovers) {
  std::mt19937_64 random(10);
  int covered = 0;
  for (int i = 0; i < 800; ++i) {
    const Distribution baseline = Summarize(MakeCorrelatedRuns(random, 300, 0.8));
    const Distribution candidate = Summarize(MakeCorrelatedRuns(random, 300, 0.8));
    const double standard_error = std::hypot(*baseline.sd, *candidate.sd) / std::sqrt(300.0);
    covered += std::fabs(*baseline.mean - *candidate.mean) <= 1.96 * standard_error;
  }
  EXPECT_LT(covered, 0.7 * 800);
}

TEST(EstimateUnpaired, FindsADifferenceAndIsReproducible) {
  std::mt19937_64 random(11);
  const std::vector<double> candidate = MakeCorrelatedRuns(random, 200, 0.3);
  std::vector<double> baseline = MakeCorrelatedRuns(random, 200, 0.3);
  for (double& run : baseline) run *= 1.1;
  const RatioEstimate estimate = *EstimateUnpaired(baseline, candidate, 0.95, 1);
  EXPECT_GT(estimate.low(), 1.08);
  EXPECT_LT(estimate.high(), 1.12);
  EXPECT_LT(*estimate.p_value, 1e-6);
  EXPECT_EQ(estimate.launches, 0);
  EXPECT_EQ(EstimateUnpaired(baseline, candidate, 0.95, 1)->log_low, estimate.log_low);
  EXPECT_NE(EstimateUnpaired(baseline, candidate, 0.95, 2)->log_low, estimate.log_low);
}

TEST(EstimateUnpaired, IsAbsentForTooFewRuns) {
  const std::vector<double> nine_runs(9, 1.0);
  const std::vector<double> ten_runs(10, 1.0);
  EXPECT_FALSE(EstimateUnpaired(nine_runs, ten_runs, 0.95, 1));
  EXPECT_TRUE(EstimateUnpaired(ten_runs, ten_runs, 0.95, 1));
  std::vector<double> with_zero = ten_runs;
  with_zero[3] = 0;
  EXPECT_FALSE(EstimateUnpaired(with_zero, ten_runs, 0.95, 1));
}

TEST(EstimateUnpaired, IsAPointForConstantTimes) {
  const RatioEstimate estimate =
      *EstimateUnpaired(std::vector<double>(40, 3.0), std::vector<double>(40, 2.0), 0.95, 1);
  EXPECT_DOUBLE_EQ(estimate.ratio(), 1.5);
  EXPECT_EQ(estimate.half_width(), 0);
}

// Each process has its own effect, so launches instead of runs are the unit.
TEST(EstimateUnpairedLaunches, CoversTheTruthWithLaunchEffects) {
  std::mt19937_64 random(12);
  std::normal_distribution<double> normal;
  const auto series = [&](int launches, double sd) {
    std::vector<double> values;
    for (int i = 0; i < launches; ++i) values.push_back(1e6 * std::exp(sd * normal(random)));
    return values;
  };
  int covered = 0;
  constexpr int kCases = 2000;
  for (int i = 0; i < kCases; ++i) {
    const RatioEstimate estimate = *EstimateUnpairedLaunches(series(10, 0.01), series(6, 0.03), 0.95);
    covered += estimate.log_low <= 0 && 0 <= estimate.log_high;
  }
  EXPECT_GT(covered, 0.935 * kCases);
  EXPECT_LT(covered, 0.965 * kCases);
}

// Two launches that happen to agree say little about the spread of processes.
TEST(EstimateLaunchesWithDrift, IsSeldomWrongWithFewLaunches) {
  constexpr double kDrift = 0.015;
  struct Spreads {
    double baseline, candidate;
  };
  for (const int launches : {2, 3, 5}) {
    for (const Spreads spreads :
         {Spreads{0.01, 0.01}, Spreads{0.03, 0.03}, Spreads{0.1, 0.1}, Spreads{0.03, 0.1}}) {
      std::mt19937_64 random(14);
      std::normal_distribution<double> normal;
      const auto measure = [&](int count, double spread) {
        const double drift = kDrift * normal(random);
        std::vector<double> values;
        for (int i = 0; i < count; ++i) values.push_back(1e6 * std::exp(drift + spread * normal(random)));
        return values;
      };
      int wrong = 0;
      constexpr int kCases = 4000;
      for (int i = 0; i < kCases; ++i) {
        const std::vector<double> few = measure(launches, spreads.baseline);
        wrong += !Covers(*EstimateLaunchesWithDrift(few, measure(20, spreads.candidate), 0.95, kDrift), 0);
      }
      EXPECT_LT(wrong, 0.06 * kCases) << launches << " " << spreads.baseline << " " << spreads.candidate;
    }
  }
}

TEST(EstimateUnpairedLaunches, IsAbsentForTooFewLaunches) {
  EXPECT_FALSE(EstimateUnpairedLaunches(std::vector{1.0}, std::vector{1.0, 2.0}, 0.95));
  EXPECT_FALSE(EstimateUnpairedLaunches(std::vector{1.0, 0.0}, std::vector{1.0, 2.0}, 0.95));
  const RatioEstimate point = *EstimateUnpairedLaunches(std::vector{3.0, 3.0}, std::vector{2.0, 2.0}, 0.95);
  EXPECT_DOUBLE_EQ(point.ratio(), 1.5);
  EXPECT_EQ(point.half_width(), 0);
  EXPECT_EQ(point.launches, 0);
}

// The spread of launches does not show how the machine changes between two measurements.
TEST(WithDrift, CoversTheTruthUnlikeLaunchesAlone) {
  constexpr double kDrift = 0.015;
  std::mt19937_64 random(13);
  std::normal_distribution<double> normal;
  const auto measure_launches = [&](int launches) {
    const double drift = kDrift * normal(random);
    std::vector<double> values;
    for (int i = 0; i < launches; ++i) values.push_back(1e6 * std::exp(drift + 0.01 * normal(random)));
    return values;
  };
  int covered = 0, covered_by_launches = 0;
  constexpr int kCases = 2000;
  for (int i = 0; i < kCases; ++i) {
    const RatioEstimate estimate = *EstimateUnpairedLaunches(measure_launches(10), measure_launches(5), 0.95);
    covered_by_launches += Covers(estimate, 0);
    covered += Covers(WithDrift(estimate, kDrift), 0);
  }
  EXPECT_GT(covered, 0.935 * kCases);
  EXPECT_LT(covered, 0.965 * kCases);
  EXPECT_LT(covered_by_launches, 0.6 * kCases);
}

TEST(WithDrift, NoDriftChangesNothingAndWithoutNoiseTheIntervalIsNormal) {
  const RatioEstimate estimate =
      *EstimateUnpairedLaunches(std::vector{3.0, 3.1, 3.3}, std::vector{2.0, 2.2}, 0.95);
  const RatioEstimate same = WithDrift(estimate, 0);
  EXPECT_DOUBLE_EQ(same.log_low, estimate.log_low);
  EXPECT_DOUBLE_EQ(*same.p_value, *estimate.p_value);
  const RatioEstimate drift =
      WithDrift(*EstimateUnpairedLaunches(std::vector{3.0, 3.0}, std::vector{2.0, 2.0}, 0.95), 0.01);
  EXPECT_NEAR(drift.log_high - drift.log_low, 2 * 1.959964 * std::sqrt(2) * 0.01, 1e-3);
}

}  // namespace
}  // namespace etprof::stats
