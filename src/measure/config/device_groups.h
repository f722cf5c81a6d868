#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/config/config.h"

namespace etprof {

// What one device measures of a configuration.
struct DeviceGroup {
  std::string device;  // as --device takes it
  Config config;       // its experiments and the pairs among them; each experiment names this device alone
};

// A configuration apart by device, in the order in which the devices are named. `given` (--device) stands in
// place of the devices that the experiments name; without either they are this machine's ("local"). Throws
// Error (kUsage): a name that is none or repeats, two names of one device, or a pair whose sides no device
// has in common.
std::vector<DeviceGroup> GroupByDevice(const Config& config, const std::vector<std::string>& given);

// As above, of --device alone.
void CheckDeviceNames(const std::vector<std::string>& devices);

// For what measures on one device only: throws Error (kUsage) where an experiment names another one.
void RequireDevice(const Config& config, const std::string& device);

// The names of the devices' folders: the platform, and where two devices have the same one, the platform and
// the device's own name ("android-R5CT", "linux-aarch64-pi5", "linux-x86_64-local"). Index by index; no two
// are the same.
struct DevicePlatform {
  std::string device, platform;
};
std::vector<std::string> DeviceFolders(const std::vector<DevicePlatform>& devices);

// The results directory below `folder`, one level down, that was measured on `device`; of several the one
// that was measured last. Absent: none.
std::optional<std::filesystem::path> FindRunOfDevice(const std::filesystem::path& folder,
                                                     const std::string& device);

}  // namespace etprof
