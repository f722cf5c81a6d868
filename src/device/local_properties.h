#pragma once

#include <filesystem>
#include <optional>

#include "device/properties.h"

namespace etprof {

// This machine's properties. Linux: /proc, /sys and /etc below `root` (another root is for tests); macOS:
// sysctl.
DeviceProperties ReadLocalProperties(const std::filesystem::path& root = "/");

// Memory that can be had without swapping; absent where the system does not say.
std::optional<Bytes> ReadAvailableMemory(const std::filesystem::path& root = "/");

}  // namespace etprof
