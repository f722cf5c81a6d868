#pragma once

#include <optional>
#include <string>

#include "device/properties.h"

namespace etprof {

// A script for the device's POSIX shell that prints `uname`, the files that ReadLinuxProperties reads, and
// Android's properties, or macOS's sysctl values.
std::string PropertiesScript();

// LimitsScript returns a script that prints the files that ReadResourceLimits and ReadAvailableMemory read.
// ParseLimits and ParseAvailableMemory parse its output.
std::string LimitsScript();
ResourceLimits ParseLimits(const std::string& output);
std::optional<Bytes> ParseAvailableMemory(const std::string& output);

// Parses the output of PropertiesScript. `name` becomes DeviceProperties::name. Throws Error (kDeviceFailed)
// if the output has no `uname`.
DeviceProperties ParseProperties(const std::string& output, const std::string& name);

}  // namespace etprof
