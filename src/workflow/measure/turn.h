#pragma once

#include <cstddef>
#include <string>

#include "device/device.h"
#include "workflow/progress.h"

namespace etprof {

// The turn of one measurement on a device, or of several that belong together: whatever measures has one
// (MeasureConfig asks for it), so that no two of them are on a device at the same time. It is taken once all
// is checked, and ends with the object.
class DeviceTurn {
 public:
  // `what` it is, for those who wait for it: "profile toy_cnn". `place` of the device in `progress`, which is
  // told for whom this one waits, after `label`. All outlive the object.
  DeviceTurn(Device& device, std::string what, WorkflowProgress& progress, std::size_t place = 0,
             std::string label = {});
  ~DeviceTurn();
  DeviceTurn(DeviceTurn&&) = delete;

  Device& device() const { return device_; }

  // Waits for it; nothing where it is taken already. On this machine, where there can be no queue (a home
  // that cannot be written), that is a message, and all goes on. Throws as Device::TakeTurn.
  void Take();
  double waited_seconds() const { return waited_; }
  // Throws as Device::EndTurn.
  void End();

 private:
  Device& device_;
  const std::string what_;
  WorkflowProgress& progress_;
  const std::size_t place_;
  const std::string label_;
  bool queued_ = false, taken_ = false;
  double waited_ = 0;
};

}  // namespace etprof
