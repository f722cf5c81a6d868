#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "device/device.h"

namespace etprof {

// The device for this machine. Put and ReserveOutputPath return local paths; nothing is copied.
std::unique_ptr<Device> MakeLocalDevice();

// Starts a program of this machine in a new process group, so that a terminal's Ctrl-C reaches only etprof.
// Throws as Device::Start does.
std::unique_ptr<Process> StartLocalProcess(const Command& command, Device::Sink on_stderr,
                                           std::function<bool()> interrupted);

// etprof's folder on this machine, which the shell scripts of remote.cc find in the same way. Empty if the
// environment does not determine it.
std::filesystem::path LocalDeviceFolder();

}  // namespace etprof
