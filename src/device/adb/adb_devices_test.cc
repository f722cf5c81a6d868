#include "device/adb/adb_devices.h"

#include <gmock/gmock.h>

namespace etprof {
namespace {

TEST(AdbDevices, EveryState) {
  // As adb 34 prints them.
  const std::vector<AdbListing> listed = ParseAdbDevices(
      "* daemon not running; starting now at tcp:5037\n"
      "* daemon started successfully\n"
      "List of devices attached\n"
      "127.0.0.1:20001        device product:lab model:Lab_phone device:lab transport_id:1\n"
      "0A041FDD40             unauthorized usb:1-2 transport_id:2\n"
      "emulator-5554          offline transport_id:3\n"
      "R5CT1                  no permissions (missing udev rules? user is in the plugdev group); see "
      "[http://developer.android.com/tools/device.html] usb:1-4 transport_id:5\n"
      "\n");
  ASSERT_EQ(listed.size(), 4U);
  EXPECT_EQ(listed[0].serial, "127.0.0.1:20001");
  EXPECT_EQ(listed[0].state, "device");
  EXPECT_EQ(listed[0].remedy, "");
  EXPECT_EQ(listed[1].state, "unauthorized");
  EXPECT_THAT(listed[1].remedy, testing::HasSubstr("allow USB debugging"));
  EXPECT_EQ(listed[2].state, "offline");
  EXPECT_THAT(listed[2].remedy, testing::HasSubstr("reconnect"));
  EXPECT_THAT(listed[3].state, testing::StartsWith("no permissions (missing udev rules?"));
  EXPECT_THAT(listed[3].remedy, testing::HasSubstr("android-sdk-platform-tools-common"));
}

TEST(AdbDevices, NoneAndNonsense) {
  EXPECT_TRUE(ParseAdbDevices("").empty());
  EXPECT_TRUE(ParseAdbDevices("List of devices attached\n\n").empty());
  EXPECT_TRUE(ParseAdbDevices("lonely\n  \n").empty());
}

}  // namespace
}  // namespace etprof
