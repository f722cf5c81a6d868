#include "say/findings/finding_numbers.h"

#include <gtest/gtest.h>

namespace etprof::say {
namespace {

TEST(TimesWithin, HaveTheUnitAndTheDecimalsOfTheWhole) {
  EXPECT_EQ(TimesWithin(1'526'343).Of(832'960), "0.833 of 1.526 ms (55%)");
  EXPECT_EQ(TimesWithin(1'526'343).Text(33'040), "0.033 ms");
  EXPECT_EQ(TimesWithin(41'300'000).Of(2'009'000), "2.01 of 41.30 ms (4.9%)");
  EXPECT_EQ(TimesWithin(805'700'000).Text(802'250'000), "802.2 ms");
  EXPECT_EQ(TimesWithin(805'700).Of(80'570), "80.6 of 805.7 µs (10%)");
}

TEST(TimesWithin, HaveTheDigitsOfARowWhoseTableAddsUp) {
  // 0.56570, 0.33055 and 0.18965 ms are 1.0859, which is 1.086 and not 0.566 + 0.331 + 0.190.
  const std::vector<double> parts = {330'550, 565'700, 189'650};
  const TimesWithin times(1'085'900);
  EXPECT_EQ(times.Of(parts, 0), "0.330 of 1.086 ms (30%)");
  EXPECT_EQ(times.Of(parts, 1), "0.566 of 1.086 ms (52%)");
  EXPECT_EQ(times.Of(parts, 2), "0.190 of 1.086 ms (17%)");
  EXPECT_TRUE(times.HasScale(ScaleFor(1'001'000, 1'001'000)));
  EXPECT_FALSE(times.HasScale(ScaleFor(999'000, 999'000)));
}

TEST(TimesWithin, NeverRoundATimeToNothing) {
  EXPECT_EQ(TimesWithin(1'526'343).Text(34.9), "<0.001 ms");
  EXPECT_EQ(TimesWithin(1'526'343).Text(600), "0.001 ms");
  EXPECT_EQ(TimesWithin(1'526'343).Text(0), "0.000 ms");
  EXPECT_EQ(TimesWithin(1'526'343).Of(34.9), "<0.001 of 1.526 ms (<0.1%)");
}

}  // namespace
}  // namespace etprof::say
