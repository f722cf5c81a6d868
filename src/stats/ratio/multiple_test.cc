#include "stats/ratio/multiple.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace etprof::stats {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(BenjaminiHochberg, KeepsTheOrderOfThePValues) {
  EXPECT_THAT(BenjaminiHochberg(std::vector<double>{0.04, 0.01, 0.03, 0.5}),
              ElementsAre(DoubleEq(0.04 * 4 / 3), DoubleEq(0.04), DoubleEq(0.04 * 4 / 3), DoubleEq(0.5)));
  EXPECT_TRUE(BenjaminiHochberg({}).empty());
  EXPECT_THAT(BenjaminiHochberg(std::vector<double>{1, 0}), ElementsAre(1, 0));
}

TEST(BenjaminiHochberg, RefusesInvalidProbabilities) {
  EXPECT_THROW(BenjaminiHochberg(std::vector<double>{1.1}), std::invalid_argument);
  EXPECT_THROW(BenjaminiHochberg(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}),
               std::invalid_argument);
}

TEST(FalseCoverageConfidence, DependsOnTheShareOfSelected) {
  EXPECT_DOUBLE_EQ(FalseCoverageConfidence(10, 40, 0.05), 1 - 0.0125);
  EXPECT_DOUBLE_EQ(FalseCoverageConfidence(40, 40, 0.05), 0.95);
  EXPECT_DOUBLE_EQ(FalseCoverageConfidence(0, 40, 0.05), 1 - 0.00125);
  EXPECT_DOUBLE_EQ(FalseCoverageConfidence(0, 0, 0.05), 0.95);
}

struct Operators {
  std::vector<double> truth;
  std::vector<RatioEstimate> estimates;
};

// `changed` of `total` operators have an effect of up to +-10 %; the noise differs from operator to operator.
Operators Simulate(std::mt19937_64& random, int total, int changed) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-0.1, 0.1);
  Operators operators;
  for (int i = 0; i < total; ++i) {
    const double truth = i < changed ? uniform(random) : 0;
    const double sd = i % 3 == 0 ? 0.03 : 0.008;
    std::vector<double> effects;
    for (int launch = 0; launch < 10; ++launch) effects.push_back(truth + sd * normal(random));
    operators.truth.push_back(truth);
    operators.estimates.push_back(*EstimateRatio(effects, 0.95));
  }
  return operators;
}

TEST(DecideVerdicts, IntervalVerdictAndTestAgree) {
  std::mt19937_64 random(3);
  for (int changed = 0; changed <= 30; ++changed) {
    const Operators operators = Simulate(random, 30, changed);
    std::vector<double> p_values;
    for (const RatioEstimate& estimate : operators.estimates) p_values.push_back(*estimate.p_value);
    const std::vector<double> adjusted = BenjaminiHochberg(p_values);
    const std::vector<OperatorVerdict> verdicts = DecideVerdicts(operators.estimates, 0.05, 0.01);
    ASSERT_EQ(verdicts.size(), 30U);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      const OperatorVerdict& v = verdicts[i];
      EXPECT_EQ(v.adjusted_p, adjusted[i]);
      EXPECT_EQ(v.significant, adjusted[i] <= 0.05);
      EXPECT_EQ(v.significant, v.estimate.log_low > 0 || v.estimate.log_high < 0);
      if (v.verdict == Verdict::kFaster || v.verdict == Verdict::kSlower) {
        EXPECT_TRUE(v.significant);
      }
      if (v.verdict == Verdict::kInconclusive) {
        EXPECT_FALSE(v.significant);
      }
      EXPECT_EQ(v.verdict, DecideVerdict(v.estimate.log_low, v.estimate.log_high, 0.01));
    }
  }
}

// Without adjustment this test fails: of 30 operators without any effect, at least one would be "faster" or
// "slower" in 79% of comparisons.
TEST(DecideVerdicts, ControlsTheFalseDiscoveryRateWithoutChanges) {
  std::mt19937_64 random(4);
  constexpr int kComparisons = 1000;
  int with_false_discovery = 0;
  int with_unadjusted_discovery = 0;
  for (int i = 0; i < kComparisons; ++i) {
    const Operators operators = Simulate(random, 30, 0);
    bool any = false;
    for (const OperatorVerdict& v : DecideVerdicts(operators.estimates, 0.05, 0.0)) any |= v.significant;
    bool any_unadjusted = false;
    for (const RatioEstimate& e : operators.estimates)
      any_unadjusted |= DecideVerdict(e.log_low, e.log_high, 0.0) != Verdict::kInconclusive;
    with_false_discovery += any;
    with_unadjusted_discovery += any_unadjusted;
  }
  EXPECT_LT(with_false_discovery, 0.07 * kComparisons);
  EXPECT_GT(with_unadjusted_discovery, 0.6 * kComparisons);
}

// Among operators with a definite verdict (including "same"), the share whose interval misses the true ratio
// is limited.
TEST(DecideVerdicts, ControlsTheFalseCoverageRateOfDefiniteVerdicts) {
  std::mt19937_64 random(5);
  constexpr int kComparisons = 1000;
  for (const int changed : {0, 3, 15, 30}) {
    double missed_share = 0;
    double missed_share_unadjusted = 0;
    for (int i = 0; i < kComparisons; ++i) {
      const Operators operators = Simulate(random, 30, changed);
      const std::vector<OperatorVerdict> verdicts = DecideVerdicts(operators.estimates, 0.05, 0.01);
      double definite = 0;
      double missed = 0;
      double discovered_unadjusted = 0;
      double missed_unadjusted = 0;
      for (std::size_t k = 0; k < verdicts.size(); ++k) {
        const double truth = operators.truth[k];
        if (verdicts[k].verdict != Verdict::kInconclusive) {
          ++definite;
          missed += truth < verdicts[k].estimate.log_low || truth > verdicts[k].estimate.log_high;
        }
        const RatioEstimate& plain = operators.estimates[k];
        if (plain.log_low > 0 || plain.log_high < 0) {
          ++discovered_unadjusted;
          missed_unadjusted += truth < plain.log_low || truth > plain.log_high;
        }
      }
      missed_share += missed / std::max(1.0, definite);
      missed_share_unadjusted += missed_unadjusted / std::max(1.0, discovered_unadjusted);
    }
    EXPECT_LT(missed_share / kComparisons, 0.06) << changed;
    if (changed == 3) {
      EXPECT_GT(missed_share_unadjusted / kComparisons, 0.2);
    }
  }
}

// The second comparison has p = 0.03. After the adjustment for two comparisons it is significant if the first
// comparison is also significant, but not if the first comparison is unresolved.
TEST(DecideVerdicts, UnresolvedComparisonsAreNeitherDiscoveriesNorEvidence) {
  const RatioEstimate certain = *EstimateRatio(std::vector<double>{0.5, 0.5, 0.5}, 0.95);
  RatioEstimate other = *EstimateRatio(std::vector<double>{0.10, 0.14, 0.18, 0.05, 0.02}, 0.95);
  ASSERT_GT(*other.p_value, 0.025);
  ASSERT_LT(*other.p_value, 0.05);
  const auto resolved = DecideVerdicts(std::vector{certain, other}, 0.05, 0.01);
  EXPECT_EQ(resolved[0].verdict, Verdict::kFaster);
  EXPECT_EQ(resolved[1].verdict, Verdict::kFaster);
  const auto unresolved = DecideVerdicts(std::vector{MarkUnresolved(certain), other}, 0.05, 0.01);
  EXPECT_FALSE(unresolved[0].significant);
  EXPECT_EQ(unresolved[0].adjusted_p, 1);
  EXPECT_EQ(unresolved[0].verdict, Verdict::kInconclusive);
  EXPECT_EQ(unresolved[0].estimate.log_low, 0);
  EXPECT_EQ(unresolved[0].estimate.log_high, 0.5);
  EXPECT_EQ(unresolved[1].verdict, Verdict::kInconclusive);
}

TEST(DecideVerdicts, EqualTimesWithoutSpreadHaveAPValueOfOne) {
  const std::vector<RatioEstimate> estimates{*EstimateRatio(std::vector<double>{0, 0, 0}, 0.95),
                                             *EstimateRatio(std::vector<double>{0.5, 0.5, 0.5}, 0.95)};
  const std::vector<OperatorVerdict> verdicts = DecideVerdicts(estimates, 0.05, 0.01);
  EXPECT_EQ(verdicts[0].adjusted_p, 1);
  EXPECT_EQ(verdicts[0].verdict, Verdict::kSame);
  EXPECT_EQ(verdicts[1].verdict, Verdict::kFaster);
  EXPECT_TRUE(DecideVerdicts({}, 0.05, 0.01).empty());
}

}  // namespace
}  // namespace etprof::stats
