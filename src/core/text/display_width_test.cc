#include <gtest/gtest.h>

#include "core/text/escape.h"

namespace etprof {
namespace {

TEST(DisplayWidth, CountsCharactersInsteadOfBytes) {
  EXPECT_EQ(DisplayWidth("größe"), 5);
  EXPECT_EQ(DisplayWidth("日本"), 4);
}

TEST(DisplayWidth, CountsInvalidBytesAsOne) {
  EXPECT_EQ(DisplayWidth("a\xff\xc3"), 3);
  EXPECT_EQ(DisplayWidth(""), 0);
}

}  // namespace
}  // namespace etprof
