#pragma once

#include <memory>
#include <string>

#include "device/remote/remote.h"

namespace etprof {

// A device as `--device` names it: local, ssh:HOST (as ssh's configuration knows it), adb (the only one),
// adb:SERIAL, adb:HOST:PORT. Throws Error (kUsage) for anything else, kDeviceFailed where it cannot be
// reached.
std::unique_ptr<Device> OpenDevice(const std::string& name, const RemoteOptions& options = {});

// The same, and nothing is opened: throws what is wrong with the name.
void CheckDeviceName(const std::string& name);

}  // namespace etprof
