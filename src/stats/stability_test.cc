#include "stats/stability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace etprof::stats {
namespace {

// Burst medians of a machine with slow waves: AR(1) noise of standard deviation `sd`, relative.
std::vector<double> Waves(int n, double sd, double memory, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> series;
  double state = normal(random);
  for (int i = 0; i < n; ++i) {
    series.push_back(4e6 * std::exp(sd * state));
    state = memory * state + std::sqrt(1 - memory * memory) * normal(random);
  }
  return series;
}

TEST(FindTrend, FindsWhatRisesAndSaysByHowMuch) {
  std::mt19937_64 random(1);
  std::vector<double> series = Waves(140, 0.02, 0.5, random);
  for (std::size_t i = 0; i < series.size(); ++i) series[i] *= 1 + 0.10 * static_cast<double>(i) / 139;
  const auto trend = FindTrend(series);
  ASSERT_TRUE(trend);
  EXPECT_NEAR(trend->relative_change, 0.10, 0.03);
  EXPECT_LT(trend->p_value, 1e-4);
  std::vector<double> falling(series.rbegin(), series.rend());
  EXPECT_NEAR(FindTrend(falling)->relative_change, -trend->relative_change, 1e-9);
}

TEST(FindTrend, SeldomSeesOneInSlowWaves) {
  std::mt19937_64 random(2);
  int found = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto trend = FindTrend(Waves(140, 0.03, 0.7, random));
    found += trend && trend->p_value < 0.01 ? 1 : 0;
  }
  EXPECT_LE(found, 50);  // 1 % nominal; the waves make some more
}

TEST(FindTrend, OfTooFewOrEqualValuesIsAbsent) {
  EXPECT_FALSE(FindTrend(std::vector<double>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(FindTrend(std::vector<double>(50, 3.0)));
  EXPECT_TRUE(FindTrend(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
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

TEST(FindTwoLevels, DoesNotSplitOneLevelHoweverSkewed) {
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
  EXPECT_LE(found, 30);  // of 3000
}

TEST(FindTwoLevels, TakesAFewOutliersForWhatTheyAre) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back((i % 20 == 0 ? 8e6 : 4e6) * (1 + 0.01 * normal(random)));
  EXPECT_FALSE(FindTwoLevels(values));
}

}  // namespace
}  // namespace etprof::stats
