#include "measure/participants/device_log.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(LogTime, ConvertsToLogcatsFormat) {
  EXPECT_EQ(LogTime("11-21 20:40:43.863123456\n"), "11-21 20:40:43.863");
  EXPECT_EQ(LogTime("11-21 20:40:43.N\n"), "11-21 20:40:43.000");
  EXPECT_EQ(LogTime("11-21 20:40:43.%N"), "11-21 20:40:43.000");
  EXPECT_EQ(LogTime("11-21 20:40:43\xb9\xb9 is no text"), "11-21 20:40:43.000");
  EXPECT_EQ(LogTime("Fri Nov 21"), "");
  EXPECT_EQ(LogTime(""), "");
  EXPECT_EQ(LogTime("'; rm -rf / '.."), "");
}

}  // namespace
}  // namespace etprof
