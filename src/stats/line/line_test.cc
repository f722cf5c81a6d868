#include "stats/line/line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/random.h"

namespace etprof::stats {
namespace {

const std::vector<double> kPlaces = {0, 640, 1280, 1920};

TEST(Line, IsThatOfLeastSquares) {
  // By hand: x 0 1 2, y 1 3 4: slope 1.5, intercept 7/6.
  const Line line = FitLine(std::vector<double>{0, 1, 2}, std::vector<double>{1, 3, 4});
  EXPECT_DOUBLE_EQ(line.slope, 1.5);
  EXPECT_DOUBLE_EQ(line.intercept, 7.0 / 6);
  EXPECT_THROW(FitLine(std::vector<double>{1, 1}, std::vector<double>{1, 2}), std::invalid_argument);
  EXPECT_THROW(FitLine(std::vector<double>{1, 2}, std::vector<double>{1}), std::invalid_argument);
}

TEST(Line, OfPartsAddsUpToThatOfTheirSum) {
  Random random(5);
  std::vector<double> total(kPlaces.size());
  Line sum;
  for (int part = 0; part < 40; ++part) {
    std::vector<double> y;
    for (std::size_t i = 0; i < kPlaces.size(); ++i) total[i] += y.emplace_back(1e6 * random.Uniform());
    const Line line = FitLine(kPlaces, y);
    sum.intercept += line.intercept;
    sum.slope += line.slope;
  }
  const Line whole = FitLine(kPlaces, total);
  EXPECT_NEAR(sum.intercept, whole.intercept, 1e-9 * whole.intercept);
  EXPECT_NEAR(sum.slope, whole.slope, 1e-9 * std::abs(whole.slope) + 1e-9);
}

// Launches of a model that takes 1 ms and 900 ns for each token before it, as far as `bend` allows. Each
// process is slower or faster as a whole and by position, and each place has noise of its own.
std::vector<std::vector<double>> Launches(Random& random, int count, double slope, double bend = 0) {
  std::vector<std::vector<double>> launches;
  for (int l = 0; l < count; ++l) {
    const double whole = 1 + 0.02 * random.Normal(), by_position = 1 + 0.03 * random.Normal();
    std::vector<double>& launch = launches.emplace_back();
    for (const double at : kPlaces) {
      const double knee = at > 1000 ? bend * (at - 1000) : 0;
      launch.push_back((1e6 * whole + (slope * at + knee) * by_position) * (1 + 0.005 * random.Normal()));
    }
  }
  return launches;
}

TEST(LineEstimate, CoversTheTruth) {
  Random random(20);
  for (const double slope : {0.0, 900.0}) {
    int intercepts = 0, slopes = 0, found = 0;
    constexpr int kTimes = 2000;
    for (int i = 0; i < kTimes; ++i) {
      const auto estimate = EstimateLine(kPlaces, Launches(random, 10, slope), 0.95);
      ASSERT_TRUE(estimate);
      EXPECT_EQ(estimate->launches, 10);
      intercepts += estimate->intercept.low <= 1e6 && 1e6 <= estimate->intercept.high ? 1 : 0;
      slopes += estimate->slope.low <= slope && slope <= estimate->slope.high ? 1 : 0;
      found += estimate->slope.low > 0 || estimate->slope.high < 0 ? 1 : 0;
      EXPECT_LT(*estimate->misfit, 0.02);
    }
    EXPECT_GT(intercepts, 0.93 * kTimes) << slope;
    EXPECT_LT(intercepts, 0.97 * kTimes) << slope;
    EXPECT_GT(slopes, 0.93 * kTimes) << slope;
    EXPECT_LT(slopes, 0.97 * kTimes) << slope;
    if (slope == 0) {
      EXPECT_LT(found, 0.07 * kTimes);
    } else {
      EXPECT_EQ(found, kTimes);
    }
  }
}

TEST(LineEstimate, ShowsAKnee) {
  Random random(7);
  const auto bent = EstimateLine(kPlaces, Launches(random, 10, 900, 3000), 0.95);
  EXPECT_GT(*bent->misfit, 0.05);
  EXPECT_FALSE(
      EstimateLine(std::vector<double>{0, 9}, std::vector<std::vector<double>>{{1, 2}}, 0.95)->misfit);
}

TEST(LineEstimate, NeedsPlacesAndLaunches) {
  EXPECT_FALSE(EstimateLine(kPlaces, std::vector<std::vector<double>>{}, 0.95));
  EXPECT_FALSE(EstimateLine(std::vector<double>{5, 5}, std::vector<std::vector<double>>{{1, 2}}, 0.95));
  const auto one = EstimateLine(kPlaces, std::vector<std::vector<double>>{{1, 2, 3, 4}}, 0.95);
  EXPECT_EQ(one->slope.high, std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(one->slope.mean, 1.0 / 640);
}

}  // namespace
}  // namespace etprof::stats
