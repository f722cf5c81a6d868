#include "stats/stability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace etprof::stats {
namespace {

// Burst medians on a machine with slow waves: AR(1) noise with the relative standard deviation `sd`.
std::vector<double> MakeWaves(int n, double sd, double correlation, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> series;
  double state = normal(random);
  for (int i = 0; i < n; ++i) {
    series.push_back(4e6 * std::exp(sd * state));
    state = correlation * state + std::sqrt(1 - correlation * correlation) * normal(random);
  }
  return series;
}

TEST(FindTrend, FindsARiseAndItsSize) {
  std::mt19937_64 random(1);
  std::vector<double> series = MakeWaves(140, 0.02, 0.5, random);
  for (std::size_t i = 0; i < series.size(); ++i) series[i] *= 1 + 0.10 * static_cast<double>(i) / 139;
  const auto trend = FindTrend(series);
  ASSERT_TRUE(trend);
  EXPECT_NEAR(trend->relative_change, 0.10, 0.03);
  EXPECT_LT(trend->p_value, 1e-4);
  std::vector<double> falling(series.rbegin(), series.rend());
  EXPECT_NEAR(FindTrend(falling)->relative_change, -trend->relative_change, 1e-9);
}

TEST(FindTrend, RarelyFindsATrendInSlowWaves) {
  std::mt19937_64 random(2);
  int found = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto trend = FindTrend(MakeWaves(140, 0.03, 0.7, random));
    found += trend && trend->p_value < 0.01 ? 1 : 0;
  }
  EXPECT_LE(found, 50);  // 1% nominal; the waves cause some more
}

TEST(FindTrend, IsAbsentForTooFewOrEqualValues) {
  EXPECT_FALSE(FindTrend(std::vector<double>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(FindTrend(std::vector<double>(50, 3.0)));
  EXPECT_TRUE(FindTrend(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

// A series of 200 values that gets slower by `change` at `index`; every 40th value is an outlier.
std::vector<double> MakeSteppedSeries(std::size_t index, double change, double sd, std::mt19937_64& random) {
  std::vector<double> series = MakeWaves(200, sd, 0.3, random);
  for (std::size_t i = 0; i < series.size(); ++i)
    series[i] *= (i < index ? 1 : 1 + change) * (i % 40 == 7 ? 3 : 1);
  return series;
}

TEST(FindStep, FindsWhereADeviceBeginsToThrottle) {
  std::mt19937_64 random(6);
  for (const std::size_t index : {12U, 90U, 120U, 188U}) {
    int found = 0, near = 0;
    for (int i = 0; i < 100; ++i) {
      const auto step = FindStep(MakeSteppedSeries(index, 0.4, 0.01, random));
      if (!step) continue;
      ++found;
      near += step->index + 2 >= index && step->index <= index + 2;
      EXPECT_NEAR(step->after / step->before, 1.4, 0.05) << index;
    }
    EXPECT_GE(found, 90) << index;
    EXPECT_GE(near, 90) << index;
  }
  const std::vector<double> falls = MakeSteppedSeries(120, -0.3, 0.02, random);
  EXPECT_LT(FindStep(falls)->after, FindStep(falls)->before);
}

TEST(FindStep, IgnoresASteadyRiseSlowWavesAndAPassingSlowdown) {
  std::mt19937_64 random(7);
  int in_rise = 0, in_waves = 0, in_bump = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<double> rise = MakeWaves(200, 0.001, 0, random);
    for (std::size_t k = 0; k < rise.size(); ++k) rise[k] *= 1 + 0.3 * static_cast<double>(k) / 200;
    in_rise += FindStep(rise) ? 1 : 0;
    in_waves += FindStep(MakeWaves(200, 0.03, 0.8, random)) ? 1 : 0;
    std::vector<double> bump = MakeWaves(200, 0.01, 0, random);
    for (std::size_t k = 60; k < 140; ++k) bump[k] *= 1.4;
    in_bump += FindStep(bump) ? 1 : 0;
  }
  EXPECT_EQ(in_rise, 0);
  EXPECT_LE(in_waves, 3);
  EXPECT_EQ(in_bump, 0);
}

TEST(FindStep, IsAbsentForTooFewEqualOrTooCloseValues) {
  std::vector<double> series(20, 100);
  EXPECT_FALSE(FindStep(series));
  for (std::size_t i = 10; i < 20; ++i) series[i] = 102;
  EXPECT_FALSE(FindStep(series));
  for (std::size_t i = 10; i < 20; ++i) series[i] = 104;
  ASSERT_TRUE(FindStep(series));
  EXPECT_EQ(FindStep(series)->index, 10U);
  series.pop_back();
  EXPECT_FALSE(FindStep(series));
}

TEST(FindTwoLevels, FindsTheLevelsOfAMachineWithTwoClocks) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) values.push_back((i % 10 < 3 ? 5.6e6 : 4.1e6) * (1 + 0.02 * normal(random)));
  const auto levels = FindTwoLevels(values);
  ASSERT_TRUE(levels);
  EXPECT_NEAR(levels->low, 4.1e6, 0.05e6);
  EXPECT_NEAR(levels->high, 5.6e6, 0.05e6);
  EXPECT_DOUBLE_EQ(levels->share_high, 0.3);
}

TEST(FindTwoLevels, DoesNotSplitOneSkewedLevel) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  std::uniform_real_distribution<double> uniform;
  int found = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> bell, tail, flat;
    for (int j = 0; j < 100; ++j) {
      bell.push_back(4e6 * (1 + 0.05 * normal(random)));
      tail.push_back(4e6 * (1 + 0.10 * exponential(random)));
      flat.push_back(4e6 * (1 + 0.30 * uniform(random)));
    }
    found += (FindTwoLevels(bell) ? 1 : 0) + (FindTwoLevels(tail) ? 1 : 0) + (FindTwoLevels(flat) ? 1 : 0);
  }
  EXPECT_LE(found, 30);  // 1% of 3000 series
}

TEST(FindTwoLevels, IgnoresAFewOutliers) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back((i % 20 == 0 ? 8e6 : 4e6) * (1 + 0.01 * normal(random)));
  EXPECT_FALSE(FindTwoLevels(values));
}

}  // namespace
}  // namespace etprof::stats
