#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/config/config.h"

namespace etprof {

// The part of a configuration that one device measures.
struct DeviceGroup {
  std::string device;  // as --device takes it
  Config config;  // the device's experiments and the pairs among them; each experiment has only this device
};

// Splits a configuration by device, in the order in which the devices are named. `device_options` (--device)
// overrides the devices of the experiments; without both, this machine ("local") measures. Throws Error
// (kUsage) for a name that is invalid or repeats, two names of one device, or a pair whose variants have no
// device in common.
std::vector<DeviceGroup> GroupByDevice(const Config& config, const std::vector<std::string>& device_options);

// Checks the names of --device as GroupByDevice does.
void CheckDeviceNames(const std::vector<std::string>& devices);

// For commands that measure on one device: throws Error (kUsage) if an experiment names another device.
void RequireDevice(const Config& config, const std::string& device);

struct DevicePlatform {
  std::string device, platform;
};
// Returns one folder name for each device, in order and all different: the platform, or if several devices
// have the same platform, the platform and the device's own name ("android-R5CT", "linux-aarch64-pi5",
// "linux-x86_64-local").
std::vector<std::string> DeviceFolders(const std::vector<DevicePlatform>& devices);

// Finds the results directory directly below `folder` that was measured on `device`; the latest if there are
// several. Absent: no such directory.
std::optional<std::filesystem::path> FindRunOfDevice(const std::filesystem::path& folder,
                                                     const std::string& device);

}  // namespace etprof
