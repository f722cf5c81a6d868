#pragma once

#include <string>
#include <vector>

#include "device/device.h"

namespace etprof {

// Runs a POSIX shell script on the device and returns its stdout; empty if the script failed or timed out.
// Throws as Device::Start does, Error (kInterrupted), DeviceLost.
std::string ShellOutput(Device& device, const std::string& script, double timeout_seconds);

// Splits a command of a user at blanks, except between single or double quotes. Empty words are dropped.
std::vector<std::string> SplitCommand(const std::string& text);

}  // namespace etprof
