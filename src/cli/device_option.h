#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "measure/config/config.h"

namespace etprof {

// How a device is used.
struct DeviceUse {
  bool keep = false;
  double wait_seconds = 60;  // for a device whose connection broke
  std::string power_mode;    // empty: none, or the configuration's
  std::optional<double> max_temp, max_temp_wait;
};
struct DeviceChoice : DeviceUse {
  std::string name = "local";
};
// The same, and --device may be repeated.
struct DevicesChoice : DeviceUse {
  std::vector<std::string> names;  // as given; empty: this machine, or what a configuration names
  DeviceChoice One(const std::string& name) const { return {*this, name}; }
};

// --device NAME, --keep, --wait-for-device and --power-mode.
void AddDeviceOption(CLI::App& app, DeviceChoice& choice);
void AddDevicesOption(CLI::App& app, DevicesChoice& choice);
// --max-temp and --max-temp-wait.
void AddCoolingOptions(CLI::App& app, DeviceUse& use);

// What the options say of the device goes into the configuration, in place of what it says itself.
void Apply(const DeviceUse& use, Config& config);

// Opens it; what takes long there is told on stderr. Throws as OpenDevice.
std::unique_ptr<Device> Open(const DeviceChoice& choice);

// etprof-runner for a device: $ETPROF_RUNNER; for this machine the one beside etprof; for another the one of
// the bundle that `etprof build` made for it. Throws Error (kBadInput) where it is not there.
std::filesystem::path RunnerFor(const Device& device, const DeviceProperties& properties);
// What a configuration is read with on a device: its runner, or none where there is none, since every
// experiment may name its own.
ConfigContext ContextFor(const Device& device, const DeviceProperties& properties);

}  // namespace etprof
