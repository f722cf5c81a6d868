#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/device_option.h"
#include "measure/config/config.h"

namespace etprof {

// What is to be measured on one of several devices.
struct DeviceJob {
  std::string device;  // as --device takes it
  // The configuration, made when it is known what the device is, in that device's thread. Its output_root is
  // the folder that holds the devices' run directories; empty: out_<model>/runs.
  std::function<Config(const Device&, const DeviceProperties&)> configure;
};

struct MeasureDevicesOptions {
  bool resume = false, json = false, all = false;
  bool dry_run = false;        // say what would be measured where, and end
  std::string resume_command;  // what to type to go on after an interruption
  DevicesChoice devices;
  bool counters = false;  // as MeasureOptions
};

// Measures on several devices at once, each in a thread of its own from the first connection to the last:
// side by side, each into a run directory of its own (DeviceFolders). Then analyses all of them, and shows
// and writes the report over all devices. What fails on one device is told with its name and does not stop
// the others. Returns the exit code: 4 where a device or an experiment failed, 130 after Ctrl-C, when what
// was measured is kept on every device; where no device got as far as measuring, and all for one reason,
// that reason's.
int MeasureAndShowDevices(const std::vector<DeviceJob>& jobs, const MeasureDevicesOptions& options);

// The folder that holds the devices' run directories: output_root, by default out_<model>/runs.
std::filesystem::path FolderOfDevices(const Config& config);

// The report over the runs that the devices left below their folders the last time; no device is reached.
// Exit code 3 where there is none of one of them.
struct DevicePlace {
  std::string device;
  std::filesystem::path folder;  // FolderOfDevices
};
int AnalyzeAndShowDevices(const std::vector<DevicePlace>& places, bool json, bool all);

// For etprof-runner where a configuration names none: gives it to every experiment of `config` that has none.
// Throws as RunnerFor.
void UseRunnerOfDevice(Config& config, const Device& device, const DeviceProperties& properties);

}  // namespace etprof
