#pragma once

#include <string>
#include <vector>

#include "device/properties.h"
#include "measure/config/config.h"

namespace etprof {

// What cannot run on a device, as far as its properties and the files here tell: without starting anything.

// Throws Error (kBadInput; kUsage for a power mode): a runner for another architecture than that of a device
// elsewhere, and no exec_wrapper that may emulate it; programs that this machine would not start; clusters
// and CPUs that the device has not; a power mode where there are none.
void CheckForDevice(const Config& config, const std::string& device, const DeviceProperties& properties);

// Throws Error (kBadInput) for masks of features that there are not, or that the device's kernel does not
// report. The runner, which asks the CPU itself, has the last word: for where it is not to be started.
void CheckMasks(const Config& config, const DeviceProperties& properties);

// Where experiments have more threads than CPUs they may use, more than cores, or CPUs chosen for them that
// are hyperthreads of one core: a warning for each, "4 threads on 2 CPUs: ...". By the properties' affinity,
// cpuset, and list of siblings; of emulated CPUs nothing is known.
std::vector<std::string> ThreadWarnings(const Config& config, const DeviceProperties& properties);

}  // namespace etprof
