#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "stats/stability.h"

namespace etprof::stats {
namespace {

class Series {
 public:
  // 2 % noise around 5 ms; every run is multiplied by 1 + amplitude exp(-i / decay).
  std::vector<double> Warming(std::size_t n, double amplitude, double decay) {
    std::vector<double> runs;
    for (std::size_t i = 0; i < n; ++i) {
      runs.push_back(5e6 * std::exp(0.02 * normal_(random_)) *
                     (1 + amplitude * std::exp(-static_cast<double>(i) / decay)));
    }
    return runs;
  }
  std::vector<double> Steady(std::size_t n) { return Warming(n, 0, 1); }

 private:
  std::mt19937_64 random_{7};
  std::normal_distribution<double> normal_;
};

TEST(FirstSteadyRun, FindsNothingWhereThereIsNoWarmUp) {
  Series series;
  for (const std::size_t n : {20U, 100U, 1000U}) {
    int at_most_one = 0;
    for (int i = 0; i < 1000; ++i) at_most_one += FirstSteadyRun(series.Steady(n)) <= 1;
    EXPECT_GE(at_most_one, 930) << n;
  }
}

TEST(FirstSteadyRun, FindsTheSlowFirstRun) {
  Series series;
  int found = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> runs = series.Steady(100);
    runs[0] *= 3;
    const std::size_t first = FirstSteadyRun(runs);
    EXPECT_GE(first, 1U);
    found += first <= 3;
  }
  EXPECT_GE(found, 900);
}

TEST(FirstSteadyRun, FollowsADecayUntilItIsWithinNoise) {
  Series series;
  for (int i = 0; i < 200; ++i) {
    const std::size_t first = FirstSteadyRun(series.Warming(400, 0.5, 15));
    EXPECT_GE(first, 30U);   // the run at index 30 is 6.8% above the level, more than 3 sd
    EXPECT_LE(first, 100U);  // the run at index 100 is 0.06% above the level
  }
}

// The number of 200 steady series, each multiplied by `change`, in which at most one run counts as warm-up.
template <typename Change>
int CountWithoutWarmUp(Series& series, const Change& change) {
  int without_warm_up = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<double> runs = series.Steady(200);
    for (std::size_t k = 0; k < runs.size(); ++k) runs[k] *= change(k);
    without_warm_up += FirstSteadyRun(runs) <= 1;
  }
  return without_warm_up;
}

// The fast runs before a device throttles are what an app sees first, so they are not warm-up.
TEST(FirstSteadyRun, KeepsAFastOpeningBeforeThrottling) {
  Series series;
  for (const std::size_t step : {20U, 40U, 90U, 120U, 180U}) {
    EXPECT_GE(CountWithoutWarmUp(series, [&](std::size_t run) { return run < step ? 1 : 1.4; }), 180) << step;
  }
}

TEST(FirstSteadyRun, KeepsTheOpeningOfASteadyRise) {
  Series series;
  EXPECT_GE(
      CountWithoutWarmUp(series, [](std::size_t run) { return 1 + 0.3 * static_cast<double>(run) / 200; }),
      180);
}

TEST(FirstSteadyRun, FindsTheWarmUpBeforeThrottling) {
  Series series;
  for (const std::size_t step : {90U, 120U}) {
    for (int i = 0; i < 200; ++i) {
      std::vector<double> runs = series.Warming(200, 0.5, 5);
      runs[0] *= 2;
      for (std::size_t k = step; k < runs.size(); ++k) runs[k] *= 1.4;
      const std::size_t first = FirstSteadyRun(runs);
      EXPECT_GE(first, 8U) << step;  // 10% above the level, 5 sd
      EXPECT_LE(first, 30U) << step;
    }
  }
}

TEST(FirstSteadyRun, FindsABurstOfSlowRunsAtTheStart) {
  Series series;
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<double> runs = series.Steady(200);
    for (const std::size_t k : {0U, 1U, 3U, 4U, 6U}) runs[k] *= 4;
    const std::size_t first = FirstSteadyRun(runs);
    EXPECT_GE(first, 5U);  // a single slow run after fast runs may stay
    found += first >= 7 && first <= 9;
  }
  EXPECT_GE(found, 180);
}

TEST(FirstSteadyRun, IsNotMisledByAnOutlierAmidSteadyRuns) {
  Series series;
  int misled = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> runs = series.Steady(100);
    runs[20] *= 4;
    misled += FirstSteadyRun(runs) > 1;
  }
  EXPECT_LE(misled, 20);
}

TEST(FirstSteadyRun, StopsAtHalfOfASeriesThatNeverSettles) {
  std::vector<double> falling;
  for (int i = 0; i < 100; ++i) falling.push_back(1e6 * (2 - 0.01 * i));
  EXPECT_LE(FirstSteadyRun(falling), 50U);
  EXPECT_GE(FirstSteadyRun(falling), 20U);
}

TEST(FirstSteadyRun, HandlesCoarseClocksAndShortSeries) {
  EXPECT_EQ(FirstSteadyRun({}), 0U);
  EXPECT_EQ(FirstSteadyRun(std::vector<double>{9, 1, 1}), 0U);
  EXPECT_EQ(FirstSteadyRun(std::vector<double>{9, 1, 1, 1}), 1U);
  EXPECT_EQ(FirstSteadyRun(std::vector<double>(50, 3.0)), 0U);
  EXPECT_EQ(FirstSteadyRun(std::vector<double>(50, 0.0)), 0U);
}

}  // namespace
}  // namespace etprof::stats
