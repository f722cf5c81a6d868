#pragma once

#include <string>

#include "device/device.h"

namespace etprof {

// What a script for a POSIX shell prints on the device; empty where it did not succeed. Throws as
// Device::Start, Error (kInterrupted), DeviceLost.
std::string ShellOutput(Device& device, const std::string& script, double timeout_seconds);

}  // namespace etprof
