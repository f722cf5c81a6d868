#pragma once

#include <string>

#include "device/properties.h"
#include "measure/config/config.h"

namespace etprof {

// True if a word of a command line is a QEMU emulator: its file name begins with "qemu-".
bool IsEmulator(const std::string& word);

// True if an experiment runs on an emulated CPU, so that its times are not meaningful: its exec_wrapper
// contains a QEMU emulator (IsEmulator), or the runner is a program for another architecture than the
// device's, which the system then emulates (binfmt_misc, Rosetta).
bool IsEmulated(const ExperimentConfig& experiment, const DeviceProperties& device);

// The platform of the runs: the device's, or "linux-aarch64-emulated" if all experiments are emulated and
// their runners have the same architecture.
std::string RunPlatform(const Config& config, const DeviceProperties& device);

}  // namespace etprof
