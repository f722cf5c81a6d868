#include "stats/ratio/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace etprof::stats {
namespace {

TEST(DecideVerdict, AppliesTheFirstMatchingRule) {
  EXPECT_EQ(DecideVerdict(0.10, 0.20, 0.01), Verdict::kFaster);
  EXPECT_EQ(DecideVerdict(-0.20, -0.10, 0.01), Verdict::kSlower);
  EXPECT_EQ(DecideVerdict(-0.005, 0.005, 0.01), Verdict::kSame);
  EXPECT_EQ(DecideVerdict(0.002, 0.005, 0.01), Verdict::kSame) << "certain, but too small to matter";
  EXPECT_EQ(DecideVerdict(0.002, 0.015, 0.01), Verdict::kFaster);
  EXPECT_EQ(DecideVerdict(-0.002, 0.015, 0.01), Verdict::kInconclusive);
}

TEST(DecideVerdict, NeverCallsAWideIntervalSame) {
  EXPECT_EQ(DecideVerdict(-0.5, 0.5, 0.01), Verdict::kInconclusive);
  EXPECT_EQ(
      DecideVerdict(-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 0.01),
      Verdict::kInconclusive);
}

TEST(DecideVerdict, MarginIsSymmetricOnTheLogScale) {
  const double edge = std::log1p(0.01);
  EXPECT_EQ(DecideVerdict(0, edge, 0.01), Verdict::kSame);
  EXPECT_EQ(DecideVerdict(-edge, 0, 0.01), Verdict::kSame);
  EXPECT_EQ(DecideVerdict(-edge * 1.0001, 0, 0.01), Verdict::kInconclusive);
  EXPECT_EQ(DecideVerdict(0, edge * 1.0001, 0.01), Verdict::kInconclusive);
}

TEST(DecideVerdict, NaNIsInconclusive) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(DecideVerdict(nan, nan, 0.01), Verdict::kInconclusive);
  EXPECT_EQ(DecideVerdict(0.1, nan, 0.01), Verdict::kInconclusive);
  EXPECT_EQ(DecideVerdict(nan, -0.1, 0.01), Verdict::kInconclusive);
}

}  // namespace
}  // namespace etprof::stats
