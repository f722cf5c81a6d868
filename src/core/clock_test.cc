#include "core/clock.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(Utc, ReadsBackWrittenTimes) {
  EXPECT_EQ(FormatUtc(1767323045), "2026-01-02T03:04:05Z");
  EXPECT_EQ(ParseUtc("2026-01-02T03:04:05Z"), 1767323045);
  EXPECT_EQ(ParseUtc("1970-01-01T00:00:00Z"), 0);
  EXPECT_TRUE(ParseUtc(UtcNow()));
}

TEST(Utc, RejectsInvalidText) {
  for (const char* text :
       {"", "2026-01-02", "2026-02-30T00:00:00Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05Z "})
    EXPECT_EQ(ParseUtc(text), std::nullopt) << text;
}

}  // namespace
}  // namespace etprof
