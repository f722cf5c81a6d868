#pragma once

#include <memory>

#include "device/device.h"

namespace etprof {

// The device for this machine. Put and Place return local paths; nothing is copied.
std::unique_ptr<Device> MakeLocalDevice();

}  // namespace etprof
