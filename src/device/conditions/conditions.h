#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/conditions/vitals.h"
#include "device/device.h"

namespace etprof {

// Reads a device's vitals again and again, by one shell that waits there in between: a reading takes
// milliseconds and starts no process.
class VitalsReader {
 public:
  // With `stay` the shell waits for the next time; without, there is a new one for each, where a connection
  // has no room for another (sshd lets one have ten sessions).
  explicit VitalsReader(Device& device, bool stay = true) : device_(device), stay_(stay) {}

  // How the device is now. `all`: every zone and cooling device is looked at, and on Android its services are
  // asked, which takes a phone a tenth of a second; else what the last such reading found of the CPUs and the
  // skin. Absent: it could not be read (the connection broke, a shell that hangs); the next time is tried
  // anew, twice at most.
  std::optional<DeviceVitals> Read(bool all);

 private:
  std::optional<DeviceVitals> Ask(const std::string& request, double timeout_seconds);

  Device& device_;
  bool stay_;
  std::unique_ptr<Process> shell_;
  std::optional<std::string> sources_;  // absent: everything is to be looked at
  int failures_ = 0;
};

}  // namespace etprof
