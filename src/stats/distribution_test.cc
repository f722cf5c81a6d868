#include "stats/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace etprof::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Summarize, UndefinedIsAbsentNotZero) {
  const Distribution empty = Summarize({});
  EXPECT_EQ(empty.n, 0);
  EXPECT_FALSE(empty.mean || empty.sd || empty.cv || empty.min || empty.max || empty.p50 || empty.p90 ||
               empty.p95 || empty.p99 || empty.mad || empty.trimmed_mean_5 || empty.trimmed_mean_10);

  const Distribution single = Summarize(std::vector<double>{7});
  EXPECT_EQ(single.n, 1);
  EXPECT_EQ(single.mean, 7);
  EXPECT_EQ(single.p99, 7);
  EXPECT_EQ(single.mad, 0);
  EXPECT_FALSE(single.sd || single.cv);

  const Distribution around_zero = Summarize(std::vector<double>{-1, 1});
  EXPECT_TRUE(around_zero.sd);
  EXPECT_FALSE(around_zero.cv);
}

TEST(Summarize, MatchesHandComputedValues) {
  const Distribution d = Summarize(std::vector<double>{9, 1, 2, 3, 4, 5, 6, 7, 8, 100});
  EXPECT_EQ(d.n, 10);
  EXPECT_DOUBLE_EQ(*d.mean, 14.5);
  EXPECT_DOUBLE_EQ(*d.p50, 5.5);
  EXPECT_NEAR(*d.p90, 18.1, 1e-12);
  EXPECT_DOUBLE_EQ(*d.mad, 2.5);
  EXPECT_DOUBLE_EQ(*d.trimmed_mean_10, 5.5);
  EXPECT_DOUBLE_EQ(*d.trimmed_mean_5, 14.5);  // floor(0.05 * 10) = 0: no value is dropped
  EXPECT_EQ(d.outliers, 1);
  EXPECT_NEAR(*d.sd, std::sqrt(8182.5 / 9), 1e-12);
  EXPECT_NEAR(*d.cv, std::sqrt(8182.5 / 9) / 14.5, 1e-12);
}

TEST(Summarize, KeepsATinyVarianceOfLargeValues) {
  std::vector<double> values;
  double sum = 0;
  double sum_of_squares = 0;
  for (int i = 0; i < 30000; ++i) {
    values.push_back(1e9 + (i % 3 - 1) * 0.125);
    sum += values.back();
    sum_of_squares += values.back() * values.back();
  }
  const double n = 30000;
  const double truth = 0.125 * std::sqrt(2.0 / 3.0 * n / (n - 1));
  const Distribution d = Summarize(values);
  EXPECT_EQ(*d.mean, 1e9);
  EXPECT_NEAR(*d.sd, truth, 1e-12);
  // The textbook formula fails here; otherwise this test would be too easy.
  const double textbook = (sum_of_squares - sum * sum / n) / (n - 1);
  EXPECT_GT(std::fabs(textbook - truth * truth), 0.1);
}

TEST(Summarize, LeavesOutValuesThatAreNotFinite) {
  const Distribution d = Summarize(std::vector<double>{kNaN, 1, kInfinity, 3});
  EXPECT_EQ(d.n, 2);
  EXPECT_EQ(d.mean, 2);
  EXPECT_EQ(d.max, 3);
}

// Sort() uses another algorithm for many integers than for other values.
TEST(Sort, OrdersAnyValues) {
  std::mt19937_64 random(3);
  for (const std::size_t count : {10U, 999U, 1000U, 5000U}) {
    for (const double max_value : {100.0, 3e6, 4294967295.0, 4294967296.0, 1e15}) {
      std::vector<double> integers(count);
      for (double& value : integers)
        value = std::floor(max_value * static_cast<double>(random()) /
                           static_cast<double>(std::mt19937_64::max()));
      integers[count / 2] = max_value;
      for (const double other : {0.0, 0.5, -1.0, 1e300, kInfinity}) {
        std::vector<double> values = integers;
        values[count / 3] = other;
        std::vector<double> expected = values;
        std::sort(expected.begin(), expected.end());
        Sort(values);
        EXPECT_EQ(values, expected) << count << " values up to " << max_value << " with " << other;
      }
    }
  }
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  const std::vector<double> values{1, 2, 4, 8};
  EXPECT_EQ(Quantile(values, 0), 1);
  EXPECT_EQ(Quantile(values, 1), 8);
  EXPECT_EQ(Quantile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.25), 1.75);
  EXPECT_THROW(Quantile({}, 0.5), std::invalid_argument);
  EXPECT_THROW(Quantile(values, 1.01), std::invalid_argument);
  EXPECT_THROW(Quantile(values, kNaN), std::invalid_argument);
}

TEST(Median, HandlesEvenAndOddCounts) {
  EXPECT_EQ(Median(std::vector<double>{5, 1, 3}), 3);
  EXPECT_EQ(Median(std::vector<double>{5, 1, 3, 4}), 3.5);
  EXPECT_EQ(Median({}), std::nullopt);
}

TEST(TukeyFences, NeedFourValuesAndContainTheirEnds) {
  const Fences open = TukeyFences(std::vector<double>{1, 1e9, 3});
  EXPECT_TRUE(open.Contains(-kInfinity));
  EXPECT_TRUE(open.Contains(kInfinity));
  const Fences fences = TukeyFences(std::vector<double>{4, 1, 3, 2, 5});
  EXPECT_EQ(fences.low, -1);
  EXPECT_EQ(fences.high, 7);
  EXPECT_TRUE(fences.Contains(7));
  EXPECT_FALSE(fences.Contains(7.001));
}

TEST(TukeyFences, ExcludeEveryOtherValueIfMostAreEqual) {
  EXPECT_EQ(Summarize(std::vector<double>{5, 5, 5, 5, 5, 6}).outliers, 1);
  EXPECT_EQ(Summarize(std::vector<double>(6, 5.0)).outliers, 0);
}

}  // namespace
}  // namespace etprof::stats
