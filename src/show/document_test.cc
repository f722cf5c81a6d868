#include "show/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etprof::show {
namespace {

// "0.833 of 1.526 ms (55%)", with the unit and digits for times up to `whole`.
std::string PartText(double whole, double part) {
  return ToText(FormatText("{} of {} ({})", PartTime{part}, Time{whole}, Share{part / whole}),
                TimeRange{whole, whole});
}

TEST(Text, PrintsTimesInOneUnitWithEqualDigits) {
  EXPECT_EQ(PartText(1'526'343, 832'960), "0.833 of 1.526 ms (55%)");
  EXPECT_EQ(PartText(41'300'000, 2'009'000), "2.01 of 41.30 ms (4.9%)");
  EXPECT_EQ(PartText(805'700, 80'570), "80.6 of 805.7 µs (10%)");
  EXPECT_EQ(ToText(FormatText("{}, then {}", Time{802'250'000}, Time{1'500'000}),
                   TimeRange{805'700'000, 805'700'000}),
            "802.2 ms, then 1.5 ms");
  EXPECT_EQ(ToText(TimeBounds{9'000, 1'000'400}, TimeRange{1'500'000, 1'500'000}), "[0.009, 1.000] ms");
}

TEST(Text, EachTimeHasItsOwnUnitWithoutARange) {
  EXPECT_EQ(ToText(FormatText("{} and {}", Time{1'500}, Time{2'500'000}), {}), "1.50 µs and 2.50 ms");
  EXPECT_EQ(ToText(FormatText("{}", Duration{1'500}), TimeRange{1e6, 1e6}), "1.50 µs");
}

TEST(Text, PartHasTheDigitsOfTheSameTimeElsewhere) {
  const TimeRange time_range{1'085'900, 1'085'900};
  for (const double part : {330'550.0, 565'700.0, 189'650.0})
    EXPECT_EQ(ToText(PartTime{part}, time_range) + " ms", ToText(Time{part}, time_range));
}

TEST(Text, NeverRoundsATimeToZero) {
  const TimeRange time_range{1'526'343, 1'526'343};
  EXPECT_EQ(ToText(Time{34.9}, time_range), "<0.001 ms");
  EXPECT_EQ(ToText(Time{600}, time_range), "0.001 ms");
  EXPECT_EQ(ToText(Time{0}, time_range), "0.000 ms");
  EXPECT_EQ(PartText(1'526'343, 34.9), "<0.001 of 1.526 ms (<0.1%)");
}

TEST(Text, KeepsValuesSeparateFromWords) {
  const Text text = FormatText("{} takes {}{}", "a", Time{5}, ".") + " More: " + JoinTexts({Count{3}, "x"});
  EXPECT_EQ(ToText(text, {}), "a takes 5 ns. More: 3, x");
  ASSERT_EQ(text.pieces().size(), 5U);
  EXPECT_EQ(text.pieces()[0].text, "a takes ");
  EXPECT_EQ(text.pieces()[1].value, 5);
  EXPECT_EQ(text.pieces()[2].text, ". More: ");
  EXPECT_EQ(text.pieces()[3].value, 3);
  EXPECT_TRUE((Text("") + "").empty());
  Text twice("b");
  twice += twice;
  EXPECT_EQ(ToText(twice, {}), "bb");
}

}  // namespace
}  // namespace etprof::show
