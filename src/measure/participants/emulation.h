#pragma once

#include <string>

#include "device/properties.h"
#include "measure/config/config.h"

namespace etprof {

// Whether a word of a command line starts a QEMU emulator: its file name begins with "qemu-".
bool IsEmulator(const std::string& word);

// Whether an experiment's runner does not run on the device's own CPU, so that its times mean nothing: its
// exec_wrapper holds a QEMU emulator (IsEmulator), or the runner is a program
// for another architecture than the device's (the system then emulates it by itself: binfmt_misc, Rosetta).
bool IsEmulated(const ExperimentConfig& experiment, const DeviceProperties& device);

// What the runs are of: the device's platform, or "linux-aarch64-emulated" where every experiment is emulated
// and their runners are of one architecture.
std::string PlatformOf(const Config& config, const DeviceProperties& device);

}  // namespace etprof
