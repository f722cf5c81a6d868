#pragma once

#include <functional>
#include <memory>

#include "device/device.h"

namespace etprof {

// Starts a program of this machine in a new process group, so that a terminal's Ctrl-C reaches only etprof.
// Throws as Device::Start does.
std::unique_ptr<Process> StartLocalProcess(const Command& command, Device::Sink on_stderr,
                                           std::function<bool()> interrupted);

}  // namespace etprof
