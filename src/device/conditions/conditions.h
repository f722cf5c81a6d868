#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/conditions/vitals.h"
#include "device/device.h"

namespace etprof {

// Reads a device's vitals repeatedly through one shell, which waits on the device between readings: a reading
// takes milliseconds and starts no process.
class VitalsReader {
 public:
  // With `keep_shell` the shell stays open between readings. Otherwise each reading starts a new shell, for a
  // connection that has no session left for a permanent shell (sshd allows ten).
  explicit VitalsReader(Device& device, bool keep_shell = true) : device_(device), keep_shell_(keep_shell) {}

  // Reads the current vitals. With `all`, reads every thermal zone and cooling device and, on Android,
  // queries its services, which takes a phone a tenth of a second. Otherwise reads only the CPU and skin
  // sensors and the cooling devices that the last reading with `all` found. Absent: the reading failed
  // (broken connection, hanging shell). After two consecutive failures of the shell, all further readings are
  // absent; failures of the connection do not count.
  std::optional<DeviceVitals> Read(bool all);

 private:
  std::optional<DeviceVitals> Request(const std::string& request, double timeout_seconds);

  Device& device_;
  bool keep_shell_;
  std::unique_ptr<Process> shell_;
  std::optional<std::string> sources_;  // DeviceVitals::sources; absent: the next reading reads everything
  int failures_ = 0;
};

}  // namespace etprof
