#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "device/properties.h"

namespace etprof {

// This machine's properties. Linux: /proc, /sys and /etc below `root` (another root is for tests); macOS:
// sysctl.
DeviceProperties ReadLocalProperties(const std::filesystem::path& root = "/");

// What a Linux system says of itself in /proc, /sys and /etc below `root`, whichever system this is; without
// name, platform, architecture and kernel.
DeviceProperties ReadLinuxProperties(const std::filesystem::path& root);

// Memory that can be had without swapping; absent where the system does not say.
std::optional<Bytes> ReadAvailableMemory(const std::filesystem::path& root = "/");
// The same of the text of /proc/meminfo.
std::optional<Bytes> ParseAvailableMemory(const std::string& meminfo);

}  // namespace etprof
