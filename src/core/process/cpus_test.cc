#include "core/process/cpus.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace etprof {
namespace {

using testing::ElementsAre;

TEST(Cpus, ParsesListsAndMasks) {
  EXPECT_THAT(ParseCpus("0"), ElementsAre(0));
  EXPECT_THAT(ParseCpus("3,0-1,1"), ElementsAre(0, 1, 3));
  EXPECT_THAT(ParseCpus("80"), ElementsAre(80));
  EXPECT_THAT(ParseCpus("0x80"), ElementsAre(7));
  EXPECT_THAT(ParseCpus("f0"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(ParseCpus("0x8000000000000001"), ElementsAre(0, 63));
}

TEST(Cpus, RejectsInvalidText) {
  for (const char* text : {"", "x", "0x", "0x0", "1-", "-1", "3-1", "1,,2", "99999", "1 2", "0xfg"}) {
    EXPECT_THROW(ParseCpus(text), Error) << text;
  }
}

TEST(Cpus, TextRoundTrips) {
  EXPECT_EQ(CpusText({0, 1, 2, 6}), "0-2,6");
  EXPECT_EQ(CpusText({}), "");
  EXPECT_THAT(ParseCpus(CpusText({1, 3, 4, 9})), ElementsAre(1, 3, 4, 9));
}

}  // namespace
}  // namespace etprof
