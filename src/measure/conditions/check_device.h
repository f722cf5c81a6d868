#pragma once

#include <string>
#include <vector>

#include "device/properties.h"
#include "measure/config/config.h"

namespace etprof {

// Checks whether a configuration can run on a device, from the device's properties and local files alone,
// without starting anything.

// Throws Error: kBadInput for a runner for another architecture than that of a remote device (unless an
// exec_wrapper may emulate it), for programs that this machine cannot start, and for clusters and CPUs that
// the device does not have; kUsage for a power mode on a device without power modes.
void CheckForDevice(const Config& config, const std::string& device, const DeviceProperties& properties);

// Throws Error (kBadInput) for masks with unknown features, and with features that the device's kernel does
// not report. Used if no runner is started: a runner checks its mask itself, with the features of the CPU.
void CheckMasks(const Config& config, const DeviceProperties& properties);

// Returns a warning, such as "4 threads on 2 CPUs: ...", for each experiment that has more threads than CPUs
// it may use, more threads than cores, or chosen CPUs that are hyperthreads of one core. Uses the affinity,
// cpuset, and siblings in the properties; emulated CPUs get no warnings.
std::vector<std::string> ThreadWarnings(const Config& config, const DeviceProperties& properties);

}  // namespace etprof
