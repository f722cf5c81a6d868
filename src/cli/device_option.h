#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "device/device.h"
#include "measure/config.h"

namespace etprof {

struct DeviceChoice {
  std::string name = "local";
  bool keep = false;
  double wait_seconds = 60;  // for a device whose connection broke
  std::string power_mode;    // empty: none, or the configuration's
  std::optional<double> max_temp, max_temp_wait;
};

// --device NAME, --keep, --wait-for-device and --power-mode.
void AddDeviceOption(CLI::App& app, DeviceChoice& choice);
// --max-temp and --max-temp-wait.
void AddCoolingOptions(CLI::App& app, DeviceChoice& choice);

// What the options say of the device goes into the configuration, in place of what it says itself.
void Apply(const DeviceChoice& choice, Config& config);

// Opens it; what takes long there is told on stderr. Throws as OpenDevice.
std::unique_ptr<Device> Open(const DeviceChoice& choice);

// etprof-runner for a device: $ETPROF_RUNNER; for this machine the one beside etprof; for another the one of
// the bundle that `etprof build` made for it. Throws Error (kBadInput) where it is not there.
std::filesystem::path RunnerFor(const Device& device, const DeviceProperties& properties);

}  // namespace etprof
