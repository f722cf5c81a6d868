#include "core/text.h"

#include <gmock/gmock.h>

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Text, TrimmedLosesItsBlanksAtBothEnds) {
  EXPECT_EQ(Trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trimmed("a"), "a");
  EXPECT_EQ(Trimmed(" \r\n"), "");
  EXPECT_EQ(Trimmed(""), "");
}

TEST(Text, TheLastLineIsTheLastThatSaysSomething) {
  EXPECT_EQ(LastLine("one\n  two \n\n \r\n"), "  two");
  EXPECT_EQ(LastLine("one"), "one");
  EXPECT_EQ(LastLine("\n \n"), "");
  EXPECT_EQ(LastLine(""), "");
}

TEST(Text, WordsStandBetweenBlanks) {
  EXPECT_THAT(Words("  qemu -cpu\tmax\n"), ElementsAre("qemu", "-cpu", "max"));
  EXPECT_THAT(Words(" \n"), IsEmpty());
}

}  // namespace
}  // namespace etprof
