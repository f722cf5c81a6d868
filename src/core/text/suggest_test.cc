#include "core/text/suggest.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace etprof {
namespace {

const std::vector<std::string> kKnown = {"analyze", "compare", "profile", "run"};

TEST(FindClosest, FindsTheNearestName) {
  EXPECT_EQ(FindClosest("anaylze", kKnown), "analyze");
  EXPECT_EQ(FindClosest("rum", kKnown), "run");
  EXPECT_EQ(FindClosest("profil", kKnown), "profile");
  EXPECT_EQ(FindClosest("compair", std::set<std::string>{"compare", "run"}), "compare");
}

TEST(FindClosest, IsEmptyIfNoNameIsNear) {
  EXPECT_EQ(FindClosest("frobnicate", kKnown), "");
  EXPECT_EQ(FindClosest("", kKnown), "");
  EXPECT_EQ(FindClosest("xy", kKnown), "");
  EXPECT_EQ(FindClosest(std::string(1000, 'a'), kKnown), "");
}

TEST(EditDistance, CountsAnExchangeOfNeighborsOnce) {
  EXPECT_EQ(EditDistance("ab", "ba"), 1U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
}

}  // namespace
}  // namespace etprof
