#pragma once

#include <memory>

#include "device/device.h"

namespace etprof {

// This machine. Files are used where they are.
std::unique_ptr<Device> MakeLocalDevice();

}  // namespace etprof
