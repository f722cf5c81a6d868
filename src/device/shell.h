#pragma once

#include <string>
#include <vector>

#include "device/device.h"

namespace etprof {

// What a script for a POSIX shell prints on the device; empty where it did not succeed. Throws as
// Device::Start, Error (kInterrupted), DeviceLost.
std::string ShellOutput(Device& device, const std::string& script, double timeout_seconds);

// The words of a command that a user gave: split at blanks, but for those between quotes, single or double.
// None is empty.
std::vector<std::string> CommandWords(const std::string& text);

}  // namespace etprof
