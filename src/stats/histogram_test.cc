#include "stats/histogram.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

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

TEST(Histogram, KeepsToItsBinsWhateverTheOutlier) {
  std::vector<double> values(1000);
  std::iota(values.begin(), values.end(), 0.0);
  values.push_back(1e12);
  const Histogram histogram = MakeHistogram(values, 40);
  EXPECT_EQ(histogram.counts.size(), 40U);
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0}), 1001);
  EXPECT_EQ(histogram.counts.back(), 1);
}

TEST(Histogram, OfEqualOrNoValues) {
  EXPECT_EQ(MakeHistogram(std::vector<double>(7, 3.0)).counts, std::vector<std::int64_t>{7});
  EXPECT_TRUE(MakeHistogram({}).counts.empty());
}

TEST(Ecdf, IsTheShareOfValuesAtMostThis) {
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
    const auto at_most =
        std::count_if(values.begin(), values.end(), [&](double x) { return x <= point.value; });
    EXPECT_DOUBLE_EQ(point.share, static_cast<double>(at_most) / 10'000);
  }
}

}  // namespace
}  // namespace etprof::stats
