#include "core/text/suggest.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace etprof {
namespace {

const std::vector<std::string> kKnown = {"analyze", "compare", "profile", "run"};

TEST(Closest, FindsTheMeantName) {
  EXPECT_EQ(Closest("anaylze", kKnown), "analyze");
  EXPECT_EQ(Closest("rum", kKnown), "run");
  EXPECT_EQ(Closest("profil", kKnown), "profile");
  EXPECT_EQ(Closest("compair", std::set<std::string>{"compare", "run"}), "compare");
}

TEST(Closest, IsEmptyIfNoNameIsNear) {
  EXPECT_EQ(Closest("frobnicate", kKnown), "");
  EXPECT_EQ(Closest("", kKnown), "");
  EXPECT_EQ(Closest("xy", kKnown), "");
  EXPECT_EQ(Closest(std::string(1000, 'a'), kKnown), "");
}

TEST(EditDistance, CountsAnExchangeOfNeighborsOnce) {
  EXPECT_EQ(EditDistance("ab", "ba"), 1U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
}

}  // namespace
}  // namespace etprof
