#include "stats/line/line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/random.h"

namespace etprof::stats {
namespace {

const std::vector<double> kX = {0, 640, 1280, 1920};

TEST(Line, MinimizesTheSquares) {
  // By hand: x 0 1 2, y 1 3 4: slope 1.5, intercept 7/6.
  const Line line = FitLine(std::vector<double>{0, 1, 2}, std::vector<double>{1, 3, 4});
  EXPECT_DOUBLE_EQ(line.slope, 1.5);
  EXPECT_DOUBLE_EQ(line.intercept, 7.0 / 6);
  EXPECT_THROW(FitLine(std::vector<double>{1, 1}, std::vector<double>{1, 2}), std::invalid_argument);
  EXPECT_THROW(FitLine(std::vector<double>{1, 2}, std::vector<double>{1}), std::invalid_argument);
}

TEST(Line, LinesOfPartsAddUpToTheLineOfTheSum) {
  Random random(5);
  std::vector<double> total(kX.size());
  Line sum;
  for (int part = 0; part < 40; ++part) {
    std::vector<double> y;
    for (std::size_t i = 0; i < kX.size(); ++i) total[i] += y.emplace_back(1e6 * random.Uniform());
    const Line line = FitLine(kX, y);
    sum.intercept += line.intercept;
    sum.slope += line.slope;
  }
  const Line total_line = FitLine(kX, total);
  EXPECT_NEAR(sum.intercept, total_line.intercept, 1e-9 * total_line.intercept);
  EXPECT_NEAR(sum.slope, total_line.slope, 1e-9 * std::abs(total_line.slope) + 1e-9);
}

// Simulates launches of a model that takes 1 ms, plus `slope` ns per token, plus `bend` ns for each token
// above 1000. Each launch scales the constant time and the time per token by its own factors, and each
// measurement has its own noise.
std::vector<std::vector<double>> SimulateLaunches(Random& random, int count, double slope, double bend = 0) {
  std::vector<std::vector<double>> launches;
  for (int launch_index = 0; launch_index < count; ++launch_index) {
    const double intercept_factor = 1 + 0.02 * random.Normal(), slope_factor = 1 + 0.03 * random.Normal();
    std::vector<double>& launch = launches.emplace_back();
    for (const double x : kX) {
      const double bend_time = x > 1000 ? bend * (x - 1000) : 0;
      launch.push_back((1e6 * intercept_factor + (slope * x + bend_time) * slope_factor) *
                       (1 + 0.005 * random.Normal()));
    }
  }
  return launches;
}

TEST(LineEstimate, CoversTheTruth) {
  Random random(20);
  for (const double slope : {0.0, 900.0}) {
    int covered_intercepts = 0, covered_slopes = 0, nonzero_slopes = 0;
    constexpr int kRepetitions = 2000;
    for (int i = 0; i < kRepetitions; ++i) {
      const auto estimate = EstimateLine(kX, SimulateLaunches(random, 10, slope), 0.95);
      ASSERT_TRUE(estimate);
      EXPECT_EQ(estimate->launches, 10);
      covered_intercepts += estimate->intercept.low <= 1e6 && 1e6 <= estimate->intercept.high ? 1 : 0;
      covered_slopes += estimate->slope.low <= slope && slope <= estimate->slope.high ? 1 : 0;
      nonzero_slopes += estimate->slope.low > 0 || estimate->slope.high < 0 ? 1 : 0;
      EXPECT_LT(*estimate->misfit, 0.02);
    }
    EXPECT_GT(covered_intercepts, 0.93 * kRepetitions) << slope;
    EXPECT_LT(covered_intercepts, 0.97 * kRepetitions) << slope;
    EXPECT_GT(covered_slopes, 0.93 * kRepetitions) << slope;
    EXPECT_LT(covered_slopes, 0.97 * kRepetitions) << slope;
    if (slope == 0) {
      EXPECT_LT(nonzero_slopes, 0.07 * kRepetitions);
    } else {
      EXPECT_EQ(nonzero_slopes, kRepetitions);
    }
  }
}

TEST(LineEstimate, ShowsAKnee) {
  Random random(7);
  const auto bent = EstimateLine(kX, SimulateLaunches(random, 10, 900, 3000), 0.95);
  EXPECT_GT(*bent->misfit, 0.05);
  EXPECT_FALSE(
      EstimateLine(std::vector<double>{0, 9}, std::vector<std::vector<double>>{{1, 2}}, 0.95)->misfit);
}

TEST(LineEstimate, NeedsPlacesAndLaunches) {
  EXPECT_FALSE(EstimateLine(kX, std::vector<std::vector<double>>{}, 0.95));
  EXPECT_FALSE(EstimateLine(std::vector<double>{5, 5}, std::vector<std::vector<double>>{{1, 2}}, 0.95));
  const auto single_launch = EstimateLine(kX, std::vector<std::vector<double>>{{1, 2, 3, 4}}, 0.95);
  EXPECT_EQ(single_launch->slope.high, std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(single_launch->slope.mean, 1.0 / 640);
}

}  // namespace
}  // namespace etprof::stats
