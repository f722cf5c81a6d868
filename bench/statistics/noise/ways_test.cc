#include "noise/ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

namespace etprof::bench {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointwise;

constexpr double kOnePercent = 0.01;

// Launches of three rounds on a machine that slows down, without other noise: both variants take equally
// long, and each launch takes `drift` longer than the one before.
Recording MakeDriftingRecording(double drift) {
  Recording recording;
  recording.seconds_per_launch = 2;
  double ns = 1e6;
  for (int launch = 0; launch < 20; ++launch, ns *= 1 + drift)
    recording.launches.push_back({{ns, ns, ns}, {ns, ns, ns}});
  return recording;
}

Claims DecideAtOnePercent(const std::vector<double>& log_ratios, double effect) {
  return DecideByThreshold(log_ratios, effect, std::log1p(kOnePercent));
}

TEST(SequentialLogRatios, ComparesEachProcessWithEachOfTheNextLaunch) {
  Recording recording;
  recording.launches = {
      {{1, 2, 9}, {NAN, 8, NAN}}, {{4, 4}, {3, 5}}, {{NAN}, {16}}};  // medians 2, 8; 4, 4; none, 16
  const double two = std::log(2.0);
  EXPECT_THAT(SequentialLogRatios(recording),
              ElementsAre(DoubleNear(-two, 1e-12), DoubleNear(-two, 1e-12), DoubleNear(two, 1e-12),
                          DoubleNear(two, 1e-12), DoubleNear(-2 * two, 1e-12), DoubleNear(-2 * two, 1e-12)));
  recording.launches.resize(1);
  EXPECT_THAT(SequentialLogRatios(recording), IsEmpty()) << "there is no next launch";
}

TEST(DecideByThreshold, CountsEachMeasurementOnce) {
  const std::vector<double> noise = {0.02, -0.02, 0.005, -0.005, 0.012, 0};
  const Claims no_effect = DecideAtOnePercent(noise, 0);
  EXPECT_EQ(no_effect.measurements, 6);
  EXPECT_EQ(no_effect.faster, 2);
  EXPECT_EQ(no_effect.slower, 1);
  EXPECT_EQ(no_effect.same, 3);
  EXPECT_EQ(no_effect.false_claims(), 3) << "both directions are false";
  EXPECT_EQ(no_effect.wrong_side, 5) << "all but the one that is exactly 1";
  EXPECT_NEAR(no_effect.ErrorQuantile(1), std::expm1(0.02), 1e-12);
  EXPECT_NEAR(no_effect.ErrorQuantile(0.5), std::expm1(0.0085), 1e-12);

  const Claims slower = DecideAtOnePercent(noise, 0.0075);  // moved by -0.00747
  EXPECT_EQ(slower.faster, 1) << "0.0125";
  EXPECT_EQ(slower.slower, 2) << "-0.0275 and -0.0125";
  EXPECT_EQ(slower.same, 3) << "-0.0025, 0.0045, -0.0075";
  EXPECT_EQ(slower.false_claims(), 1) << "slower is what it is";
  EXPECT_EQ(slower.wrong_side, 2) << "0.0125 and 0.0045";
  EXPECT_EQ(slower.inconclusive, 0);
  EXPECT_THAT(slower.errors, Pointwise(DoubleNear(1e-12), no_effect.errors))
      << "noise has the same size whatever the effect";
}

TEST(DecideByThreshold, FindsEffectsWithoutNoise) {
  const std::vector<double> quiet = SequentialLogRatios(MakeDriftingRecording(0));
  ASSERT_EQ(quiet.size(), 4u * 19);
  for (const auto& [effect, slower] : {std::pair(0.0, 0), {0.005, 0}, {0.01, 0}, {0.02, 76}, {0.05, 76}}) {
    const Claims claims = DecideAtOnePercent(quiet, effect);
    EXPECT_EQ(claims.slower, slower) << effect;
    EXPECT_EQ(claims.same, 76 - slower) << effect;
    EXPECT_EQ(claims.false_claims(), 0) << effect;
    EXPECT_EQ(claims.wrong_side, 0) << effect;
    EXPECT_DOUBLE_EQ(claims.ErrorQuantile(1), 0) << effect;
  }
}

// On a machine that slows down by 5 % from launch to launch every B is slower, and on a machine that speeds
// up every B is faster. Interleaved bursts are affected on both variants.
TEST(SequentialLogRatios, MistakesDriftForADifference) {
  const Claims as_fast = DecideAtOnePercent(SequentialLogRatios(MakeDriftingRecording(0.05)), 0);
  EXPECT_EQ(as_fast.slower, 76);
  EXPECT_EQ(as_fast.false_claims(), 76);
  EXPECT_NEAR(as_fast.ErrorQuantile(0.5), 0.05, 1e-9);

  const Claims wrong_way = DecideAtOnePercent(SequentialLogRatios(MakeDriftingRecording(-0.05)), 0.02);
  EXPECT_EQ(wrong_way.faster, 76);
  EXPECT_EQ(wrong_way.false_claims(), 76);
  EXPECT_EQ(wrong_way.wrong_side, 76);
  EXPECT_NEAR(wrong_way.ErrorQuantile(0.5), 1 / 0.95 - 1, 1e-9);
}

TEST(SimulateInterleaved, IsUnaffectedByDrift) {
  for (const double drift : {0.05, -0.05}) {
    std::mt19937_64 random(1);
    const Recording recording = MakeDriftingRecording(drift);
    const InterleavedClaims as_fast = SimulateInterleaved(recording, 0, 50, {}, random);
    EXPECT_EQ(as_fast.same, 50);
    EXPECT_EQ(as_fast.false_claims(), 0);
    EXPECT_DOUBLE_EQ(as_fast.seconds, 20) << "the first look, ten launches of 2 s";
    const InterleavedClaims slower = SimulateInterleaved(recording, 0.02, 50, {}, random);
    EXPECT_EQ(slower.slower, 50);
    EXPECT_EQ(slower.false_claims(), 0);
    EXPECT_EQ(slower.wrong_side, 0);
    EXPECT_NEAR(slower.ErrorQuantile(1), 0, 1e-9);
  }
}

// The candidate alternately takes 4 % longer and shorter. An interval that includes this spread covers the
// true ratio about as often as its confidence says, so there are few false claims.
TEST(SimulateInterleaved, FalseClaimsInNoiseMatchConfidence) {
  Recording recording;
  recording.seconds_per_launch = 2;
  for (int launch = 0; launch < 20; ++launch)
    recording.launches.push_back({{1e6}, {1e6 * (launch % 2 == 0 ? 1.04 : 0.96)}});
  std::mt19937_64 random(1);
  const InterleavedClaims claims = SimulateInterleaved(recording, 0, 1000, {}, random);
  EXPECT_EQ(claims.faster + claims.slower + claims.same + claims.inconclusive, 1000);
  EXPECT_GT(claims.false_claims(), 5);
  EXPECT_LT(claims.false_claims(), 70);
  EXPECT_EQ(claims.covered, 1000 - claims.false_claims());
  EXPECT_GT(claims.wrong_side, 800) << "few means are exactly 0";
  EXPECT_LE(claims.seconds, 56) << "28 launches of 2 s; 40 would take longer than 60 s";
  EXPECT_GT(claims.seconds, 55) << "few have ten launches that are alike, and stop there";
  EXPECT_TRUE(std::is_sorted(claims.errors.begin(), claims.errors.end()));
}

TEST(ThresholdForFalseClaims, LeavesAtMostTheShareAbove) {
  std::vector<double> noise;
  for (int i = 1; i <= 40; ++i) noise.push_back((i % 2 == 0 ? 1 : -1) * 0.001 * i);
  for (const auto& [share, claimed] : {std::pair(0.05, 2), {0.06, 2}, {0.049, 1}, {0.0, 0}, {0.5, 20}}) {
    const double threshold = ThresholdForFalseClaims(noise, share);
    EXPECT_EQ(DecideByThreshold(noise, 0, threshold).false_claims(), claimed) << share;
    EXPECT_GT(DecideByThreshold(noise, 0, threshold * 0.999).false_claims(), claimed) << "not the least";
  }
}

TEST(Claims, HasNoErrorWithoutMeasurements) {
  EXPECT_THROW(DecideAtOnePercent({}, 0).ErrorQuantile(0.5), std::invalid_argument);
}

}  // namespace
}  // namespace etprof::bench
