#include "device/adb/adb_devices.h"

#include <gmock/gmock.h>

#include "core/golden_testing.h"

namespace etprof {
namespace {

TEST(AdbDevices, ParsesEveryState) {
  // The output of adb 34.
  const std::vector<AdbListing> devices = ParseAdbDevices(
      "* daemon not running; starting now at tcp:5037\n"
      "* daemon started successfully\n"
      "List of devices attached\n"
      "127.0.0.1:20001        device product:lab model:Lab_phone device:lab transport_id:1\n"
      "0A041FDD40             unauthorized usb:1-2 transport_id:2\n"
      "emulator-5554          offline transport_id:3\n"
      "R5CT1                  no permissions (missing udev rules? user is in the plugdev group); see "
      "[http://developer.android.com/tools/device.html] usb:1-4 transport_id:5\n"
      "\n");
  ASSERT_EQ(devices.size(), 4U);
  EXPECT_EQ(devices[0].serial, "127.0.0.1:20001");
  EXPECT_EQ(devices[0].state, "device");
  EXPECT_EQ(devices[0].remedy, "");
  EXPECT_EQ(devices[1].state, "unauthorized");
  EXPECT_EQ(devices[2].state, "offline");
  EXPECT_THAT(devices[3].state, testing::StartsWith("no permissions (missing udev rules?"));
  ExpectGoldenMessages("device/adb_states", {{devices[1].state, devices[1].remedy},
                                             {devices[2].state, devices[2].remedy},
                                             {devices[3].state, devices[3].remedy}});
}

struct AdbText {
  const char* output;
  const char* problem;
};

// The messages of adb 1.0.39 to 1.0.41.
TEST(AdbProblem, FindsTheCauseInEachMessage) {
  CaseMessages remedies;
  for (const auto& [output, problem] : {
           AdbText{"error: insufficient permissions for device: missing udev rules? user is in the plugdev "
                   "group\n"
                   "See [http://developer.android.com/tools/device.html] for more information\n",
                   "insufficient permissions for device: missing udev rules? user is in the plugdev group"},
           {"adb: error: failed to get feature set: insufficient permissions for device: user in plugdev "
            "group; "
            "are your udev rules wrong?\n"
            "See [http://developer.android.com/tools/device.html] for more information\n",
            "failed to get feature set: insufficient permissions for device: user in plugdev group; are your "
            "udev rules wrong?"},
           {"no permissions (missing udev rules? user is in the plugdev group); see "
            "[http://developer.android.com/tools/device.html]",
            "no permissions (missing udev rules? user is in the plugdev group); see "
            "[http://developer.android.com/tools/device.html]"},
           {"adb server version (41) doesn't match this client (39); killing...\n"
            "ADB server didn't ACK\n"
            "* failed to start daemon\n"
            "error: cannot connect to daemon\n",
            "adb server version (41) doesn't match this client (39)"},
           {"cannot connect to daemon at tcp:5037: Connection refused\n"
            "* daemon not running; starting now at tcp:5037\n"
            "* daemon started successfully\n"
            "error: device 'nosuch' not found\n",
            "device 'nosuch' not found"},
           {"error: device unauthorized.\n"
            "This adb server's $ADB_VENDOR_KEYS is not set\n"
            "Try 'adb kill-server' if that seems wrong.\n"
            "Otherwise check for a confirmation dialog on your device.\n",
            "device unauthorized."},
           {"error: device still authorizing\n", "device still authorizing"},
           {"error: device offline\n", "device offline"},
           {"error: more than one device/emulator\n", "more than one device/emulator"},
           {"error: no devices/emulators found\n", "no devices/emulators found"},
           {"error: device only supports allocating a pty\n",
            "its Android is older than 7, whose adb reports no exit codes (device only supports allocating a "
            "pty)"},
           {"* daemon not running; starting now at tcp:5037\n* failed to start daemon\n"
            "error: cannot connect to daemon\n",
            "cannot connect to daemon"},
           {"error: protocol fault (couldn't read status): Connection reset by peer\n",
            "protocol fault (couldn't read status): Connection reset by peer"},
           {"/tmp/a: 1 file pushed, 0 skipped. 20.2 MB/s (1000 bytes in 0.000s)\n"
            "adb: error: failed to copy '/tmp/a' to '/data/a': remote couldn't create file: Permission "
            "denied\n",
            "failed to copy '/tmp/a' to '/data/a': remote couldn't create file: Permission denied"},
           {"", ""},
       }) {
    EXPECT_EQ(AdbProblem(output), problem);
    remedies.emplace_back(problem, AdbRemedy(problem));
  }
  ExpectGoldenMessages("device/adb_problems", remedies);
}

TEST(AdbDevices, IgnoresUnrelatedOutput) {
  EXPECT_TRUE(ParseAdbDevices("").empty());
  EXPECT_TRUE(ParseAdbDevices("List of devices attached\n\n").empty());
  EXPECT_TRUE(ParseAdbDevices("lonely\n  \n").empty());
}

}  // namespace
}  // namespace etprof
