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
  // With `stay` the shell stays open between readings. Without, each reading starts a new shell: a connection
  // may have no session left for a permanent shell (sshd allows ten).
  explicit VitalsReader(Device& device, bool stay = true) : device_(device), stay_(stay) {}

  // Reads the current vitals. With `all`, reads every thermal zone and cooling device and, on Android,
  // queries its services, which takes a phone a tenth of a second. Otherwise reads only the CPU and skin
  // sensors and the cooling devices that the last such reading found. Absent: the reading failed (broken
  // connection, hanging shell). After two failures in a row that are not the connection's, all further
  // readings are absent.
  std::optional<DeviceVitals> Read(bool all);

 private:
  std::optional<DeviceVitals> Request(const std::string& request, double timeout_seconds);

  Device& device_;
  bool stay_;
  std::unique_ptr<Process> shell_;
  std::optional<std::string> sources_;  // DeviceVitals::sources; absent: the next reading reads everything
  int failures_ = 0;
};

}  // namespace etprof
