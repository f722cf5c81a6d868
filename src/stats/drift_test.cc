#include "stats/drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "core/sanitizer.h"
#include "stats/change_point.h"

namespace etprof::stats {
namespace {

// An autoregressive series with standard deviation 1 and a level shift of `shift` before index `at`.
std::vector<double> MakeDriftingSeries(std::size_t count, double autocorrelation, double shift,
                                       std::size_t at, Random& random) {
  std::vector<double> values(count);
  const double innovation = std::sqrt(1 - autocorrelation * autocorrelation);
  double value = random.Normal();
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = value + (i >= at ? shift : 0);
    value = autocorrelation * value + innovation * random.Normal();
  }
  return values;
}

// AddressSanitizer is slow, so there only a few series run, with loose bounds.
constexpr int kSeries = kHasAddressSanitizer ? 4 : 100;
constexpr double kSlack = kHasAddressSanitizer ? 0.5 : 0;
constexpr double kLevel = 0.015;  // the same as in FindChangePoints

// The share of kSeries series whose p-value is at most kLevel.
template <typename Make>
double DetectionRate(const Make& make_series) {
  Random random(11);
  int detected = 0;
  for (int i = 0; i < kSeries; ++i) {
    const std::vector<double> values = make_series(random);
    detected += DriftPValue(values, random) <= kLevel ? 1 : 0;
  }
  return detected / static_cast<double>(kSeries);
}

class DriftOfLength : public testing::TestWithParam<std::size_t> {};

TEST_P(DriftOfLength, ASeriesThatDriftsHasNoStep) {
  for (const double autocorrelation : {0.0, 0.5, 0.8, 0.95}) {
    EXPECT_LE(DetectionRate([&](Random& random) {
                return MakeDriftingSeries(GetParam(), autocorrelation, 0, 0, random);
              }),
              0.08 + kSlack)
        << autocorrelation;
  }
}

// FindChangePoints also requires that the permutation test finds a step.
TEST_P(DriftOfLength, ASlowSeasonHasNoStep) {
  const auto count = static_cast<double>(GetParam());
  Random random(11);
  int detected = 0;
  for (int i = 0; i < kSeries; ++i) {
    const std::vector<double> values = MakeDriftingSeries(GetParam(), 0, 0, 0, random);
    const double phase = random.Normal();
    std::vector<RunLaunches> runs;
    for (std::size_t run = 0; run < values.size(); ++run) {
      const double season = 1.2 * static_cast<double>(run) / count + phase;
      runs.push_back({{values[run] + 0.5 * std::sin(2 * std::numbers::pi * season)}, static_cast<int>(run)});
    }
    detected += FindChangePoints(runs).changes.empty() ? 0 : 1;
  }
  EXPECT_LE(detected, 5);
}

TEST_P(DriftOfLength, AStepIsDetectedInNoiseAndDrift) {
  for (const double autocorrelation : {0.0, 0.5, 0.8}) {
    EXPECT_GE(DetectionRate([&](Random& random) {
                return MakeDriftingSeries(GetParam(), autocorrelation, 10, GetParam() / 2, random);
              }),
              0.95 - kSlack)
        << autocorrelation;
  }
}

INSTANTIATE_TEST_SUITE_P(, DriftOfLength, testing::Values(12U, 30U, 60U));

TEST(Drift, ASingleOutlierIsNoStep) {
  EXPECT_LE(DetectionRate([](Random& random) {
              std::vector<double> values = MakeDriftingSeries(30, 0.5, 0, 0, random);
              values[15] += 12;
              return values;
            }),
            0.05 + kSlack);
}

TEST(Drift, WithoutSpreadAStepIsCertain) {
  Random random(1);
  std::vector<double> values(12, 1.0);
  for (std::size_t i = 6; i < 12; ++i) values[i] = 2;
  EXPECT_LT(DriftPValue(values, random), 1e-6);
  EXPECT_EQ(DriftPValue(std::vector<double>(12, 1.0), random), 1);
  EXPECT_EQ(DriftPValue(std::vector<double>{1, 1, 1, 2, 2}, random), 1) << "too few";
}

}  // namespace
}  // namespace etprof::stats
