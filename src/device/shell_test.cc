#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/tool.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SplitCommand, SplitsAtBlanks) {
  EXPECT_THAT(SplitCommand("  qemu -cpu\tmax\n"), ElementsAre("qemu", "-cpu", "max"));
  EXPECT_THAT(SplitCommand(" '' \n"), IsEmpty());
}

TEST(SplitCommand, KeepsQuotedBlanks) {
  EXPECT_THAT(SplitCommand("'/my tools/qemu'  -L \"/a b\" x"),
              ElementsAre("/my tools/qemu", "-L", "/a b", "x"));
  EXPECT_THAT(SplitCommand("--path=\"/a b\" \\x"), ElementsAre("--path=/a b", "\\x"));
  EXPECT_THAT(SplitCommand("'open to the end"), ElementsAre("open to the end"));
}

}  // namespace
}  // namespace etprof
