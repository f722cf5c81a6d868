#include "device/shell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CommandWords, SplitsAtBlanks) {
  EXPECT_THAT(CommandWords("  qemu -cpu\tmax\n"), ElementsAre("qemu", "-cpu", "max"));
  EXPECT_THAT(CommandWords(" '' \n"), IsEmpty());
}

TEST(CommandWords, KeepsQuotedBlanks) {
  EXPECT_THAT(CommandWords("'/my tools/qemu'  -L \"/a b\" x"),
              ElementsAre("/my tools/qemu", "-L", "/a b", "x"));
  EXPECT_THAT(CommandWords("--path=\"/a b\" \\x"), ElementsAre("--path=/a b", "\\x"));
  EXPECT_THAT(CommandWords("'open to the end"), ElementsAre("open to the end"));
}

}  // namespace
}  // namespace etprof
