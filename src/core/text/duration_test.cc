#include <gtest/gtest.h>

#include "core/units.h"

namespace etprof {
namespace {

TEST(Duration, IsANumberAndAUnit) {
  EXPECT_EQ(ParseDuration("33ms"), 33'000'000);
  EXPECT_EQ(ParseDuration("16.7 ms"), 16'700'000);
  EXPECT_EQ(ParseDuration("10min"), 600'000'000'000);
  EXPECT_EQ(ParseDuration("1.5h"), 5'400'000'000'000);
  EXPECT_EQ(ParseDuration("2s"), 2'000'000'000);
  EXPECT_EQ(ParseDuration("7us"), 7'000);
  EXPECT_EQ(ParseDuration("5ns"), 5);
  EXPECT_EQ(ParseDuration("0"), 0);
  EXPECT_EQ(ParseDuration("0ms"), 0);
}

TEST(Duration, RejectsInvalidText) {
  for (const char* text : {"", "33", "ms", "-1ms", "-0", "1 year", "1ms2", "1e400s", "nan", "nans", "infs",
                           "20000h", "1,5s", "33 MS", "0x1s"}) {
    EXPECT_FALSE(ParseDuration(text).has_value()) << text;
  }
}

TEST(Duration, FormatsShortTextThatReadsBack) {
  EXPECT_EQ(FormatExactDuration(33'000'000), "33ms");
  EXPECT_EQ(FormatExactDuration(16'700'000), "16.7ms");
  EXPECT_EQ(FormatExactDuration(600'000'000'000), "10min");
  EXPECT_EQ(FormatExactDuration(0), "0");
  for (const Nanoseconds duration : {Nanoseconds(1), Nanoseconds(33'333'333), Nanoseconds(90'000'000'000),
                                     Nanoseconds(3'600'000'000'000), Nanoseconds(123'456'789'012)}) {
    EXPECT_EQ(ParseDuration(FormatExactDuration(duration)), duration) << FormatExactDuration(duration);
  }
}

}  // namespace
}  // namespace etprof
