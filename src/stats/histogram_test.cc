#include "stats/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "stats/distribution.h"

namespace etprof::stats {
namespace {

TEST(Histogram, CountsEveryValueOnceInBinsOfOneWidth) {
  const std::vector<double> values = {1, 2, 2, 3, 3, 3, 4, 4, 5, 9};
  const Histogram histogram = MakeHistogram(values);
  // IQR by linear interpolation: 4 - 2.25 = 1.75; 2 * 1.75 / 10^(1/3) = 1.62; 8 / 1.62 -> 5 bins of 1.6.
  EXPECT_DOUBLE_EQ(histogram.from, 1);
  EXPECT_DOUBLE_EQ(histogram.width, 1.6);
  EXPECT_EQ(histogram.counts, (std::vector<std::int64_t>{3, 5, 1, 0, 1}));
}

TEST(Histogram, LeavesAFarOutlierBeyondItsAxis) {
  std::mt19937 random(11);
  std::normal_distribution<double> latency(100, 2);
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(latency(random));
  values.push_back(1e12);
  const Histogram histogram = MakeHistogram(values);
  std::sort(values.begin(), values.end());
  const double end = histogram.from + histogram.width * static_cast<double>(histogram.counts.size());
  EXPECT_NEAR(end, Quantile(values, 0.99), 1e-9);
  EXPECT_EQ(histogram.above_axis, 10);  // of the values 0 to 1000, 990 is the quantile itself
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0}), 991);
  EXPECT_LE(std::count(histogram.counts.begin(), histogram.counts.end(), 0), 3);
  EXPECT_LE(histogram.counts.size(), 60U);
  EXPECT_EQ(MakeHistogram(values, 7).counts.size(), 7U);
}

TEST(Histogram, HasNothingBeyondItsAxisForFewValues) {
  std::vector<double> values(98, 5.0);
  values.push_back(50);
  EXPECT_EQ(MakeHistogram(values).above_axis, 0);
  EXPECT_EQ(MakeHistogram(values).counts.back(), 1);
  // With 100 values the 99% quantile lies between the last two; all equal values below it are in one bin.
  values.push_back(60);
  EXPECT_EQ(MakeHistogram(values).above_axis, 1);
}

TEST(Histogram, HandlesEqualAndNoValues) {
  EXPECT_EQ(MakeHistogram(std::vector<double>(7, 3.0)).counts, std::vector<std::int64_t>{7});
  EXPECT_TRUE(MakeHistogram({}).counts.empty());
}

TEST(SharedHistogram, HasOneAxisAndCountsEveryValue) {
  std::mt19937 random(7);
  std::normal_distribution<double> fast(100, 2), slow(200, 20);
  std::vector<std::vector<double>> sets(3);
  for (int i = 0; i < 400; ++i) sets[0].push_back(fast(random));
  for (int i = 0; i < 150; ++i) sets[1].push_back(slow(random));
  sets[0].push_back(5000);  // far above the other values
  const SharedHistogram shared = MakeSharedHistogram(sets);
  const double smallest = *std::min_element(sets[0].begin(), sets[0].end());
  EXPECT_DOUBLE_EQ(shared.from, smallest);
  std::sort(sets[1].begin(), sets[1].end());
  ASSERT_EQ(shared.counts.size(), 3U);
  const std::size_t bins = shared.counts[0].size();
  // The axis ends at the slow set's 99 % quantile.
  EXPECT_NEAR(shared.from + shared.width * static_cast<double>(bins), Quantile(sets[1], 0.99), 1e-9);
  EXPECT_EQ(shared.above_axis, (std::vector<std::int64_t>{1, 2, 0}));
  for (std::size_t set = 0; set < sets.size(); ++set) {
    ASSERT_EQ(shared.counts[set].size(), bins);
    // Count the values between the edges of each bin.
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const double low = shared.from + shared.width * static_cast<double>(bin);
      const double high = bin + 1 == bins ? 1e300 : low + shared.width;
      const auto inside =
          std::count_if(sets[set].begin(), sets[set].end(), [&](double x) { return x >= low && x < high; });
      const std::int64_t above_axis = bin + 1 == bins ? shared.above_axis[set] : 0;
      EXPECT_EQ(shared.counts[set][bin], inside - above_axis) << set << ' ' << bin;
    }
  }
  // The bins are as narrow as the fast set needs for its values on the axis, up to the maximal number of
  // bins.
  EXPECT_EQ(bins, 120U);
  const double width = MakeSharedHistogram(sets, 10'000).width;
  sets[0].pop_back();
  std::sort(sets[0].begin(), sets[0].end());
  const double iqr = Quantile(sets[0], 0.75) - Quantile(sets[0], 0.25);
  EXPECT_NEAR(width, 2 * iqr / std::cbrt(400.0), 0.01);
}

TEST(SharedHistogram, HandlesFewEqualAndNoValues) {
  EXPECT_TRUE(MakeSharedHistogram({}).counts.empty());
  EXPECT_TRUE(MakeSharedHistogram(std::vector<std::vector<double>>(2)).counts.empty());
  const SharedHistogram equal = MakeSharedHistogram(std::vector<std::vector<double>>{{3, 3}, {3}});
  EXPECT_EQ(equal.width, 0);
  EXPECT_EQ(equal.counts, (std::vector<std::vector<std::int64_t>>{{2}, {1}}));
  // In a set of fewer than 100 values, no value is beyond the axis.
  const SharedHistogram few = MakeSharedHistogram(std::vector<std::vector<double>>{{1, 2, 3, 1000}}, 8);
  EXPECT_EQ(few.above_axis, std::vector<std::int64_t>{0});
  EXPECT_LE(few.counts[0].size(), 8U);
  EXPECT_EQ(few.counts[0].back(), 1);
}

TEST(Ecdf, HasTheShareOfValuesAtMostEachValue) {
  const std::vector<EcdfPoint> points = MakeEcdf(std::vector<double>{3, 1, 2, 2});
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[1].value, 2);
  EXPECT_EQ(points[1].share, 0.75);
  EXPECT_EQ(points[2].share, 1);
}

TEST(Ecdf, IsThinnedToStepsOfShare) {
  std::mt19937 random(1);
  std::vector<double> values;
  for (int i = 0; i < 10'000; ++i) values.push_back(static_cast<double>(random()));
  const std::vector<EcdfPoint> points = MakeEcdf(values, 50);
  EXPECT_LE(points.size(), 51U);
  EXPECT_GE(points.size(), 45U);
  EXPECT_EQ(points.front().value, *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(points.back().value, *std::max_element(values.begin(), values.end()));
  for (const EcdfPoint& point : points) {
    const auto count_at_most =
        std::count_if(values.begin(), values.end(), [&](double x) { return x <= point.value; });
    EXPECT_DOUBLE_EQ(point.share, static_cast<double>(count_at_most) / 10'000);
  }
}

}  // namespace
}  // namespace etprof::stats
