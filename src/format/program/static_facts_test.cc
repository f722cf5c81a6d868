#include "format/program/static_facts.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace etprof {
namespace {

const FactInfo& FindFact(const std::string& key) {
  for (const FactInfo& info : AllFacts()) {
    if (info.key == key) return info;
  }
  throw std::out_of_range(key);
}

Split MakeSplit(std::int64_t with_property, std::int64_t without_property, std::int64_t unknown = 0) {
  return {{with_property}, {without_property}, {unknown}};
}

TEST(StaticFacts, AnOverflowingSumIsUnknown) {
  Tally tally;
  tally.Add(std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(tally.Exact());
  tally.Add(1);
  EXPECT_FALSE(tally.Exact());
  EXPECT_EQ(tally.known, std::numeric_limits<std::int64_t>::max());
}

TEST(StaticFacts, SharesOfKnownAmountsAreExact) {
  EXPECT_EQ(MakeSplit(3, 1).Share(), (FactRange{0.75, 0.75}));
  EXPECT_EQ(MakeSplit(3, 1).ExactShare(), 0.75);
  EXPECT_EQ(MakeSplit(0, 5).Share(), (FactRange{0, 0}));
  EXPECT_EQ(MakeSplit(5, 0).Share(), (FactRange{1, 1}));
  // If the whole is 0, nothing lacks the property, but there is no share to show.
  EXPECT_EQ(MakeSplit(0, 0).Share(), (FactRange{1, 1}));
  EXPECT_FALSE(MakeSplit(0, 0).ExactShare());
}

TEST(StaticFacts, SharesOfUnknownAmountsHaveBounds) {
  EXPECT_EQ(MakeSplit(2, 1, 1).Share(), (FactRange{0.5, 0.75}));
  EXPECT_FALSE(MakeSplit(2, 1, 1).ExactShare());
  Split unknown_delegated = MakeSplit(3, 1);
  unknown_delegated.with_property.has_unknown = true;  // a payload that cannot be read
  EXPECT_EQ(unknown_delegated.Share().low, 0.75);
  EXPECT_LT(unknown_delegated.Share().high, 1) << "one portable operator is enough";
  EXPECT_GT(unknown_delegated.Share().high, 0.999999);
  EXPECT_FALSE(unknown_delegated.Total());
  unknown_delegated.without_property = {};
  EXPECT_EQ(unknown_delegated.Share(), (FactRange{1, 1})) << "all is delegated, however much that is";
  Split unknown_portable = MakeSplit(3, 1);
  unknown_portable.without_property.has_unknown = true;  // a kernel with unknown MACs
  EXPECT_EQ(unknown_portable.Share(), (FactRange{0, 0.75}));
  Split unknown_only = MakeSplit(0, 0);
  unknown_only.unknown.has_unknown = true;
  EXPECT_EQ(unknown_only.Share(), (FactRange{0, 1}));
}

TEST(StaticFacts, ParsesALimitInTheUnitOfItsFact) {
  EXPECT_EQ(FindFact("delegated").Parse("99.9%"), 999 / 1000.0)
      << "the share that 999 of 1,000 operators are";
  EXPECT_EQ(FindFact("delegated").Parse("100 %"), 1);
  EXPECT_EQ(FindFact("delegates").Parse("3"), 3);
  EXPECT_EQ(FindFact("planned").Parse("2MB"), 2e6);
  EXPECT_EQ(FindFact("planned").Parse("1.5 MiB"), 1.5 * 1024 * 1024);
  EXPECT_EQ(FindFact("file_size").Parse("77"), 77);
  for (const char* text : {"", "%", "101%", "100.1%", "-1%", "1", "0.5", "nan%", "inf%", "1% of it"})
    EXPECT_FALSE(FindFact("delegated").Parse(text)) << text;
  for (const char* text : {"", "-1", "1.5", "3x", "1e3", "99999999999999999999"})
    EXPECT_FALSE(FindFact("portable").Parse(text)) << text;
  for (const char* text : {"", "MB", "-1MB", "1.2.3MB", "3 parsecs", "1e3"})
    EXPECT_FALSE(FindFact("file_size").Parse(text)) << text;
}

TEST(StaticFacts, EveryFactHasUniqueNames) {
  std::set<std::string> keys, names, limits;
  for (const FactInfo& info : AllFacts()) {
    keys.insert(info.key);
    names.insert(info.name);
    limits.insert(info.FileKey());
  }
  for (const auto& each : {keys, names, limits}) EXPECT_EQ(each.size(), AllFacts().size());
  EXPECT_EQ(FindFact("delegated_macs").FileKey(), "require_delegated_macs");
}

TEST(Percent, IsParsedAsADecimalNumber) {
  EXPECT_EQ(ParsePercent("2%"), 0.02);
  EXPECT_EQ(ParsePercent("-5 %"), -0.05);
  EXPECT_EQ(ParsePercent("99.9%"), 0.999);
  EXPECT_EQ(ParsePercent("1e1%"), 0.1);
  for (const char* text : {"", "2", "%", "two%", "2 percent"}) EXPECT_FALSE(ParsePercent(text)) << text;
}

}  // namespace
}  // namespace etprof
