#include "device/open_device.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace etprof {
namespace {

TEST(DeviceName, AcceptsEveryKind) {
  for (const char* name : {"local", "ssh:pi5", "ssh:user@10.0.0.2", "adb", "adb:R5CT", "adb:10.0.0.3:5555"})
    EXPECT_NO_THROW(CheckDeviceName(name)) << name;
}

// A name that begins with a dash would be an option of the client program.
TEST(DeviceName, RejectsInvalidNames) {
  for (const char* name : {"", "pi5", "ssh", "ssh:", "ssh:-oProxyCommand=x", "adb:", "adb:-H", "LOCAL"}) {
    try {
      CheckDeviceName(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    }
  }
}

TEST(OpenDevice, OpensThisMachine) { EXPECT_EQ(OpenDevice("local")->Name(), "local"); }

}  // namespace
}  // namespace etprof
