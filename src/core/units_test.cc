#include "core/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace etprof {
namespace {

TEST(FormatDuration, KeepsThreeSignificantDigitsAndAUnit) {
  EXPECT_EQ(FormatDuration(51), "51 ns");
  EXPECT_EQ(FormatDuration(51.25), "51.2 ns");
  EXPECT_EQ(FormatDuration(999.6), "1.00 µs");
  EXPECT_EQ(FormatDuration(7'916'000), "7.92 ms");
  EXPECT_EQ(FormatDuration(-12'345'678), "−12.3 ms");
  EXPECT_EQ(FormatDuration(-6.21), "−6.21 ns");
  EXPECT_EQ(FormatDuration(31e9), "31.0 s");
  EXPECT_EQ(FormatDuration(4e12), "4000 s");
  EXPECT_EQ(FormatDuration(0), "0 ns");
}

TEST(FormatNumber, HasNoUnit) {
  EXPECT_EQ(FormatNumber(15.93), "15.9");
  EXPECT_EQ(FormatNumber(-0.152), "−0.15");
  EXPECT_EQ(FormatNumber(-42.7), "−42.7");
  EXPECT_EQ(FormatNumber(12515), "12515");
  EXPECT_EQ(FormatNumber(0.0004), "0.0004");
}

TEST(FormatMilliseconds, NeverRoundsToZero) {
  EXPECT_EQ(FormatMilliseconds(7'916'000), "7.92 ms");
  EXPECT_EQ(FormatMilliseconds(51'000), "0.051 ms");
  EXPECT_EQ(FormatMilliseconds(800), "0.0008 ms");
  EXPECT_EQ(FormatMilliseconds(0), "0.00 ms");
  EXPECT_EQ(FormatMilliseconds(20), "0.00002 ms");
  EXPECT_EQ(FormatMilliseconds(-20), "−0.00002 ms");
  EXPECT_EQ(FormatMilliseconds(-49), "−0.00005 ms");
  EXPECT_EQ(FormatMilliseconds(51), "0.0001 ms");
  EXPECT_EQ(FormatMilliseconds(0.3), "0.0000003 ms");
  EXPECT_EQ(FormatMilliseconds(-1e-8), "0.00 ms");  // the rounding error of a difference of 0
}

TEST(FormatBytes, UsesPowersOfAThousand) {
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(12'300), "12.3 kB");
}

TEST(FormatAmount, HasThreeDigitsAndIntegersHaveNoDecimals) {
  EXPECT_EQ(FormatAmount(0), "0");
  EXPECT_EQ(FormatAmount(999), "999");
  EXPECT_EQ(FormatAmount(999.6), "1.00 k");
  EXPECT_EQ(FormatAmount(85'120'000), "85.1 M");
  EXPECT_EQ(FormatAmount(1e12), "1.00 T");
  EXPECT_EQ(FormatAmount(2e21), "2000 E");
}

TEST(ExactMilliseconds, IsExact) {
  EXPECT_EQ(ExactMilliseconds(1'234'567'891), "1234.567891");
  EXPECT_EQ(ExactMilliseconds(1'000'000), "1");
  EXPECT_EQ(ExactMilliseconds(1'010'000), "1.01");
  EXPECT_EQ(ExactMilliseconds(-1), "-0.000001");
  EXPECT_EQ(ExactMilliseconds(std::numeric_limits<Nanoseconds>::min()), "-9223372036854.775808");
}

TEST(FormatCount, SeparatesThousands) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(-1234567), "-1,234,567");
  EXPECT_EQ(FormatCount(-123), "-123");
}

}  // namespace
}  // namespace etprof
