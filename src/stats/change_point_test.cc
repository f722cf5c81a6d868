#include "stats/change_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "stats/ratio/multiple.h"

namespace etprof::stats {
namespace {

// Simulates runs with a known level.
struct CommitSeries {
  double launch_sd = 0.02, between_sd = 0.003;
  int launches = 20;
  std::mt19937_64 random{7};

  RunLaunches Next(double level, std::int64_t group) {
    std::normal_distribution<double> normal;
    std::bernoulli_distribution disturbed(0.05);
    const double mean = level + between_sd * normal(random);
    RunLaunches run;
    run.group = group;
    for (int i = 0; i < launches; ++i)
      run.logs.push_back(mean + launch_sd * normal(random) + (disturbed(random) ? 0.2 : 0.0));
    return run;
  }
  // One run per group, with a step of `size` before run `at`.
  std::vector<RunLaunches> Stepped(int count, int at, double size) {
    std::vector<RunLaunches> runs;
    for (int i = 0; i < count; ++i) runs.push_back(Next(10 + (i >= at ? size : 0), i));
    return runs;
  }
};

// The expected values are those of scipy.stats.trim_mean(x, 0.25) and scipy.stats.mstats.trimmed_stde(x,
// (0.25, 0.25)).
TEST(InterquartileMean, MatchesScipy) {
  const std::vector<double> logs = {1, 2, 3, 4, 5, 6, 7, 100};
  const InterquartileMean mean = ComputeInterquartileMean(logs);
  EXPECT_DOUBLE_EQ(mean.log, 4.5);
  EXPECT_NEAR(mean.standard_error.value(), 1.0, 1e-6);
  EXPECT_EQ(mean.degrees_of_freedom, 3);
  EXPECT_EQ(ComputeInterquartileMean(std::vector<double>{2.0}).standard_error, std::nullopt);
  EXPECT_DOUBLE_EQ(ComputeInterquartileMean(std::vector<double>{1.0, 2.0, 6.0}).log, 3);
  EXPECT_THROW(ComputeInterquartileMean({}), std::invalid_argument);
}

TEST(ChangePoints, FindsAStepAtItsPlaceWithItsSize) {
  CommitSeries series;
  const ChangePoints change_points = FindChangePoints(series.Stepped(30, 18, 0.05));
  ASSERT_EQ(change_points.changes.size(), 1U);
  const LevelChange& change = change_points.changes[0];
  EXPECT_EQ(change.first_run, 18U);
  EXPECT_LE(change.earliest, 18U);
  EXPECT_GE(change.latest, 18U);
  EXPECT_LE(change.latest - change.earliest, 2U);
  EXPECT_LT(change.log_low, 0.05);
  EXPECT_GT(change.log_high, 0.05);
  EXPECT_GT(change.log_low, 0.03);
  EXPECT_LT(change.p_value, 0.01);
  EXPECT_EQ(change_points.last_runs, 12U);
  EXPECT_NEAR(*change_points.run_sd, std::hypot(0.003, 0.02 / std::sqrt(20.0)), 0.002);
}

TEST(ChangePoints, BetweenSdExcludesTheSpreadOfLaunches) {
  CommitSeries steady{.launch_sd = 0.003, .between_sd = 0.03};
  const ChangePoints steady_result = FindChangePoints(steady.Stepped(40, 40, 0));
  EXPECT_NEAR(*steady_result.between_sd, *steady_result.run_sd, 0.01 * *steady_result.run_sd)
      << "launches explain a thousandth";
  CommitSeries noisy{.launch_sd = 0.05, .between_sd = 0};
  const ChangePoints noisy_result = FindChangePoints(noisy.Stepped(40, 40, 0));
  EXPECT_LT(*noisy_result.between_sd, 0.6 * *noisy_result.run_sd);
}

TEST(ChangePoints, FindsSeveralChanges) {
  CommitSeries series;
  std::vector<RunLaunches> runs;
  for (int i = 0; i < 60; ++i) runs.push_back(series.Next(i < 20 ? 0 : i < 40 ? 0.08 : 0.03, i));
  const ChangePoints change_points = FindChangePoints(runs);
  ASSERT_EQ(change_points.changes.size(), 2U);
  EXPECT_EQ(change_points.changes[0].first_run, 20U);
  EXPECT_EQ(change_points.changes[1].first_run, 40U);
  EXPECT_GT(change_points.changes[0].log_low, 0);
  EXPECT_LT(change_points.changes[1].log_high, 0);
}

TEST(ChangePoints, NeedEightRuns) {
  CommitSeries series;
  const ChangePoints change_points = FindChangePoints(series.Stepped(7, 4, 1));
  EXPECT_THAT(change_points.changes, testing::IsEmpty());
  EXPECT_EQ(change_points.p_value, 1);
  EXPECT_THAT(FindChangePoints({}).changes, testing::IsEmpty());
  EXPECT_EQ(FindChangePoints({}).run_sd, std::nullopt);
  EXPECT_EQ(RunsToDetect(FindChangePoints({}), 0.02, 0.05), std::nullopt);
}

TEST(ChangePoints, AreExactWithoutSpread) {
  std::vector<RunLaunches> runs;
  for (int i = 0; i < 12; ++i) runs.push_back({{14.1, 14.1, 14.1}, i});
  EXPECT_THAT(FindChangePoints(runs).changes, testing::IsEmpty());
  for (std::size_t i = 6; i < 12; ++i) runs[i].logs = {14.2, 14.2, 14.2};
  const ChangePoints change_points = FindChangePoints(runs);
  ASSERT_EQ(change_points.changes.size(), 1U);
  EXPECT_EQ(change_points.changes[0].first_run, 6U);
  EXPECT_EQ(change_points.changes[0].earliest, 6U);
  EXPECT_EQ(change_points.changes[0].latest, 6U);
  EXPECT_NEAR(change_points.changes[0].log_low, 0.1, 1e-9);
}

TEST(ChangePoints, LieBetweenGroups) {
  CommitSeries series;
  std::vector<RunLaunches> runs;
  for (int i = 0; i < 30; ++i) runs.push_back(series.Next(i < 16 ? 0 : 0.1, i / 5));
  const ChangePoints change_points = FindChangePoints(runs);
  ASSERT_EQ(change_points.changes.size(), 1U);
  EXPECT_EQ(change_points.changes[0].first_run, 15U);
  EXPECT_EQ(change_points.changes[0].earliest % 5, 0U);
}

TEST(ChangePoints, IgnoreAnOutlyingRun) {
  CommitSeries series;
  std::vector<RunLaunches> runs = series.Stepped(20, 99, 0);
  for (double& log : runs[19].logs) log += 0.5;
  EXPECT_THAT(FindChangePoints(runs).changes, testing::IsEmpty());
}

TEST(ChangePoints, RefusesInvalidArguments) {
  EXPECT_THROW(FindChangePoints(std::vector<RunLaunches>{{{}, 0}}), std::invalid_argument);
  EXPECT_THROW(FindChangePoints({}, {.level = 0}), std::invalid_argument);
  EXPECT_THROW(ChangePValues({}, 0), std::invalid_argument);
  EXPECT_THAT(ChangePValues({}, 0.05), testing::IsEmpty());
}

TEST(RunsToDetect, LargerChangesNeedFewerRuns) {
  CommitSeries series;
  const ChangePoints change_points = FindChangePoints(series.Stepped(30, 99, 0));
  const auto small = RunsToDetect(change_points, 0.01, 0.05), large = RunsToDetect(change_points, 0.05, 0.05);
  ASSERT_TRUE(small && large);
  EXPECT_EQ(*large, 2U);
  EXPECT_GT(*small, *large);
  EXPECT_EQ(RunsToDetect(change_points, 1e-5, 0.05), std::nullopt);
}

TEST(ChangePValues, AChangeAmongManySeriesIsSignificant) {
  CommitSeries series;
  std::vector<std::vector<RunLaunches>> all_series;
  for (int i = 0; i < 60; ++i) all_series.push_back(series.Stepped(30, i == 17 ? 18 : 99, 0.05));
  const std::vector<double> p_values = ChangePValues(all_series, 0.01);
  ASSERT_EQ(p_values.size(), 60U);
  // The smallest p-value that the draws can give.
  EXPECT_LE(p_values[17], 0.25 * 0.01 / 60);
  const std::vector<double> adjusted = BenjaminiHochberg(p_values);
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(adjusted[i] <= 0.01, i == 17) << i;
  // The place is the same whether or not the first split is tested again.
  const ChangePoints with_known_p_value =
      FindChangePoints(all_series[17], {.level = 0.01 / 60, .p_value = p_values[17]});
  ASSERT_EQ(with_known_p_value.changes.size(), 1U);
  EXPECT_EQ(with_known_p_value.changes[0].first_run, FindChangePoints(all_series[17]).changes[0].first_run);
  EXPECT_EQ(with_known_p_value.p_value, p_values[17]);
  EXPECT_EQ(with_known_p_value.changes[0].p_value, p_values[17]);
  // A series with a known p-value above the level is not split.
  EXPECT_THAT(FindChangePoints(all_series[17], {.p_value = 0.5}).changes, testing::IsEmpty());
}

// If all series changed, each needs fewer permutations, by a factor of the number of series.
TEST(ChangePValues, ManyChangedSeriesNeedFewerPermutations) {
  CommitSeries series;
  std::vector<std::vector<RunLaunches>> all_series;
  for (int i = 0; i < 60; ++i) all_series.push_back(series.Stepped(30, 18, 0.05));
  for (const double p_value : ChangePValues(all_series, 0.01)) {
    EXPECT_LE(p_value, 0.25 * 0.01);
    EXPECT_GT(p_value, 0.25 * 0.01 / 60);
  }
}

// If nothing changed, p-values are uniform: at most a tenth of them is below 0.1.
TEST(ChangePValues, AreUniformWithoutChange) {
  CommitSeries series;
  std::vector<std::vector<RunLaunches>> all_series;
  for (int i = 0; i < 1000; ++i) all_series.push_back(series.Stepped(12, 99, 0));
  const std::vector<double> p_values = ChangePValues(all_series, 0.05);
  for (const double level : {0.02, 0.1, 0.5}) {
    const auto below = std::ranges::count_if(p_values, [&](double p_value) { return p_value <= level; });
    EXPECT_LE(static_cast<double>(below), 1000 * level + 2 * std::sqrt(1000 * level * (1 - level))) << level;
    EXPECT_GE(static_cast<double>(below), 1000 * level - 3 * std::sqrt(1000 * level * (1 - level))) << level;
  }
}

// Checks the error rates and coverages that the header documents, over many series
// (bench/statistics/change_point has longer series and recorded noise).
TEST(ChangePoints, KeepTheirErrorRates) {
  constexpr int kSeries = 300;
  int false_alarms = 0, detected = 0, correct_places = 0, covered_places = 0, covered_sizes = 0;
  CommitSeries series;
  for (int i = 0; i < kSeries; ++i) {
    ChangePointOptions options;
    options.permutations = 199;
    options.seed = static_cast<std::uint64_t>(i);
    false_alarms += FindChangePoints(series.Stepped(24, 99, 0), options).changes.empty() ? 0 : 1;
    const ChangePoints change_points = FindChangePoints(series.Stepped(24, 14, 0.025), options);
    if (change_points.changes.size() != 1) continue;
    const LevelChange& change = change_points.changes[0];
    ++detected;
    correct_places += change.first_run == 14 ? 1 : 0;
    covered_places += change.earliest <= 14 && 14 <= change.latest ? 1 : 0;
    covered_sizes += change.log_low <= 0.025 && 0.025 <= change.log_high ? 1 : 0;
  }
  EXPECT_LE(false_alarms, 0.05 * kSeries + 8);  // two standard deviations
  EXPECT_GE(detected, 0.85 * kSeries);          // for steps of four standard deviations of a run
  EXPECT_GE(correct_places, 0.9 * detected);
  EXPECT_GE(covered_places, 0.95 * detected - 8);
  EXPECT_GE(covered_sizes, 0.95 * detected - 8);
}

}  // namespace
}  // namespace etprof::stats
