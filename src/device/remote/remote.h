#pragma once

#include <memory>

#include "device/device.h"
#include "device/remote/connection.h"

namespace etprof {

struct RemoteOptions {
  bool keep = false;  // leave the run's private folder on the device
  std::function<void(const std::string&)>
      notice;                         // what takes long, in a line: "pushing etprof-runner, 17 MB"
  std::function<bool()> interrupted;  // as Device::SetInterrupted, from the beginning
};

// A device behind a connection. Opens it: throws Error (kDeviceFailed). On the device lie below one folder
// (docs/reference/devices.md), and only what has names of etprof's is ever removed there:
//   cache/<digest>/   what Put left: by content, so that nothing is sent twice; whole or not there
//   runs/<id>/        this object's: what is running (pids/), what Place named
// A guard runs there as long as this object lives: a shell that waits for the end of its stdin. When that
// comes, by CleanUp or by a connection that broke, it ends what runs and removes the run's folder. Where even
// the guard died, the next one to come does its work.
std::unique_ptr<Device> MakeRemoteDevice(std::unique_ptr<Connection> connection, RemoteOptions options = {});

}  // namespace etprof
