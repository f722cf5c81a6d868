#pragma once

#include <memory>

#include "device/device.h"
#include "device/remote/connection.h"

namespace etprof {

struct RemoteOptions {
  bool keep = false;  // leave the run's private folder on the device
  // Called with one line before operations that take long ("pushing etprof-runner, 17 MB"), and for warnings.
  std::function<void(const std::string&)> notice;
  std::function<bool()> interrupted;  // as for Device::SetInterrupted, also used while connecting
};

// Opens the connection and returns its device. Throws Error (kDeviceFailed). The device has one folder for
// etprof (docs/reference/devices.md), in which etprof removes only folders with names that etprof gives:
//   cache/<digest>/   files of Put, by content, so that nothing is sent twice; complete or absent
//   runs/<id>/        private to this object: running processes (pids/), files of ReserveOutputPath
// A guard, which is a shell that waits for the end of its stdin, runs on the device as long as this object
// lives. When its stdin ends, by CleanUp or by a broken connection, the guard kills the run's processes and
// removes the run's folder. If the guard was killed, the next etprof process that connects does this.
std::unique_ptr<Device> MakeRemoteDevice(std::unique_ptr<Connection> connection, RemoteOptions options = {});

}  // namespace etprof
