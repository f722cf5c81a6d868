#pragma once

#include <filesystem>
#include <memory>

#include "device/device.h"

namespace etprof {

// The device for this machine. Put and ReserveOutputPath return local paths; nothing is copied.
std::unique_ptr<Device> MakeLocalDevice();

// etprof's folder on this machine, which the shell scripts of remote.cc find in the same way. Empty if the
// environment does not determine it.
std::filesystem::path LocalDeviceFolder();

}  // namespace etprof
