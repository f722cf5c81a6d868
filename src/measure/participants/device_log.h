#pragma once

#include <string>

#include "device/device.h"

namespace etprof {

// Reads Android's log from a point in time on. Never clears the log, since other programs use it, too.
class DeviceLog {
 public:
  // Records the device's time. On a device without logcat, does nothing, and Lines() is empty.
  DeviceLog(Device& device, const DeviceProperties& properties);

  // The lines that XNNPACK and ExecuTorch (their tags) have written since construction; empty: none.
  std::string Lines() const;

 private:
  Device& device_;
  std::string since_;  // "11-21 20:40:43.863", as `logcat -T` takes it; empty: the device has no such log
};

// Converts the output of `date '+%m-%d %H:%M:%S.%N'` to the format of `logcat -T`; empty: not in that format.
// Some versions of `date` do not support %N.
std::string LogTime(const std::string& date_output);

}  // namespace etprof
