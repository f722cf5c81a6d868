#pragma once

#include <string>

#include "device/device.h"

namespace etprof {

// Android's log from a moment on. It is other people's log as well: nothing of it is cleared.
class DeviceLog {
 public:
  // Notes the device's time. On a device without logcat nothing is done, and nothing found.
  DeviceLog(Device& device, const DeviceProperties& properties);

  // What XNNPACK and ExecuTorch have written there since then (their tags), a line each; empty: nothing.
  std::string Lines() const;

 private:
  Device& device_;
  std::string since_;  // "11-21 20:40:43.863", as `logcat -T` takes it; empty: there is no such log
};

// `printed` of `date '+%m-%d %H:%M:%S.%N'`, as `logcat -T` takes it; empty: it is no such time. Some `date`s
// know no %N.
std::string LogTime(const std::string& printed);

}  // namespace etprof
