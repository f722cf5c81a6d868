#pragma once

#include <memory>
#include <string>

#include "device/remote/connection.h"

namespace etprof {

// Opens a device by the name that `--device` accepts: local, ssh:HOST (a host of ssh's configuration), adb
// (the only device that adb lists), adb:SERIAL, adb:HOST:PORT. Throws Error: kUsage for any other name,
// kDeviceFailed if the device cannot be reached.
std::unique_ptr<Device> OpenDevice(const std::string& name, const RemoteOptions& options = {});

// Throws Error (kUsage) if OpenDevice would not accept the name. Opens nothing.
void CheckDeviceName(const std::string& name);

}  // namespace etprof
