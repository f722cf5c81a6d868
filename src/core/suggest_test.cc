#include "core/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace etprof {
namespace {

const std::vector<std::string> kKnown = {"analyze", "compare", "profile", "run"};

TEST(Closest, FindsWhatWasMeant) {
  EXPECT_EQ(Closest("anaylze", kKnown), "analyze");
  EXPECT_EQ(Closest("rum", kKnown), "run");
  EXPECT_EQ(Closest("profil", kKnown), "profile");
}

TEST(Closest, IsSilentWhereNothingIsNear) {
  EXPECT_EQ(Closest("frobnicate", kKnown), "");
  EXPECT_EQ(Closest("", kKnown), "");
  EXPECT_EQ(Closest("xy", kKnown), "");
}

}  // namespace
}  // namespace etprof
