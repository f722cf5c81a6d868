#pragma once

#include <optional>
#include <string>

#include "device/properties.h"

namespace etprof {

// A script for the device's POSIX shell that prints what it knows of itself: the files that
// ReadLinuxProperties reads, `uname`, Android's properties, or macOS's sysctl.
std::string PropertiesScript();

// A script that prints the files of ReadResourceLimits and ReadAvailableMemory, and what these make of them.
std::string LimitsScript();
ResourceLimits ParseLimits(const std::string& printed);
std::optional<Bytes> ParseAvailableMemory(const std::string& printed);

// What the script printed. `name` is the connection's.
DeviceProperties ParseProperties(const std::string& printed, const std::string& name);

}  // namespace etprof
