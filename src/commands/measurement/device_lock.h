#pragma once

#include <cstddef>
#include <string>

#include "commands/terminal/progress.h"
#include "device/device.h"

namespace etprof {

// Exclusive use of a device for one measurement, or for several that belong together. MeasureConfig acquires
// it, so that no two measurements run on a device at the same time. It is acquired after all checks, and
// released by the destructor.
class DeviceLock {
 public:
  // `description` names the measurement for processes that wait for it: "profile toy_cnn". `device_index` is
  // the device's index in `progress`, which shows what this measurement waits for, after `label`. The
  // references must outlive the object.
  DeviceLock(Device& device, std::string description, WorkflowProgress& progress,
             std::size_t device_index = 0, std::string label = {});
  ~DeviceLock();
  DeviceLock(DeviceLock&&) = delete;

  Device& device() const { return device_; }

  // Waits for the device; does nothing if it is already acquired. If this machine has no writable home folder
  // for the queue, prints a warning and goes on. Throws as Device::AcquireLock.
  void Acquire();
  double waited_seconds() const { return waited_; }
  // Throws as Device::ReleaseLock.
  void Release();

 private:
  Device& device_;
  const std::string description_;
  WorkflowProgress& progress_;
  const std::size_t device_index_;
  const std::string label_;
  bool queued_ = false, acquired_ = false;
  double waited_ = 0;
};

}  // namespace etprof
