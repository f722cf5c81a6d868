#pragma once

#include <string>

#include "device/device.h"
#include "protocol/messages.h"

namespace etprof {

// What etprof-runner sees of a device: the features come from cpuinfo, as XNNPACK's own choices do.
// `given_runner` is its path on this machine; empty: RunnerFor the device. `exec_wrapper` is put before it.
// Throws Error: kBadInput for a runner that is not there or is none, kDeviceFailed for one that does not run.
protocol::IsaState AskRunner(Device& device, const std::string& given_runner,
                             const std::string& exec_wrapper);

}  // namespace etprof
