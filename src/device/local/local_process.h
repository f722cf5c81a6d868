#pragma once

#include <functional>
#include <memory>

#include "device/device.h"

namespace etprof {

// Starts a program of this machine in a process group of its own, so that a terminal's Ctrl-C reaches etprof
// only. Throws as Device::Start.
std::unique_ptr<Process> StartLocalProcess(const Command& command, Device::Sink on_stderr,
                                           std::function<bool()> interrupted);

}  // namespace etprof
