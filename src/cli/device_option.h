#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace etprof {

struct DeviceChoice {
  std::string name = "local";
  bool keep = false;
  double wait_seconds = 60;  // for a device whose connection broke
};

// --device NAME, --keep and --wait-for-device.
void AddDeviceOption(CLI::App& app, DeviceChoice& choice);

// The same, and --device may be repeated.
struct DevicesChoice {
  std::vector<std::string> names;  // as given; empty: this machine, or what a configuration names
  bool keep = false;
  double wait_seconds = 60;
  DeviceChoice One(const std::string& name) const { return {name, keep, wait_seconds}; }
};
void AddDevicesOption(CLI::App& app, DevicesChoice& choice);

// Opens it; what takes long there is told on stderr. Throws as OpenDevice.
std::unique_ptr<Device> Open(const DeviceChoice& choice);

// etprof-runner for a device: $ETPROF_RUNNER; for this machine the one beside etprof; for another the one of
// the bundle that `etprof build` made for it. Throws Error (kBadInput) where it is not there.
std::filesystem::path RunnerFor(const Device& device, const DeviceProperties& properties);

}  // namespace etprof
