#pragma once

#include <string>
#include <vector>

#include "commands/measurement/device.h"
#include "commands/terminal/progress.h"
#include "device/survey.h"

namespace etprof {

struct DevicesOptions {
  std::vector<std::string> device_names;  // in addition to this machine and the devices that adb lists
  double timeout_seconds = 10;            // devices that do not answer within this time are unreachable
  bool clean = false;  // remove etprof's files from these devices, or from all if none is named

  static void Describe(auto& v) {
    using O = DevicesOptions;
    v("device", &O::device_names,
      {.meaning = "Show this device, too: ssh:HOST, adb:SERIAL, adb:HOST:PORT. May be repeated",
       .or_single = true,
       .value = "DEVICE"});
    v("clean", &O::clean,
      {.meaning = "Remove what etprof left on the devices of --device, or on all that can be reached"});
    v("timeout", &O::timeout_seconds,
      NumberOption("Seconds to wait for a device's answer (default: 10)", 0.1, 3600, "S"));
  }
};

struct DeviceList {
  std::vector<DeviceSurvey> devices;
  std::vector<std::string> notes;  // why devices may be missing from the list

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("devices", &DeviceList::devices,
      {.meaning = "this machine, those that adb lists, and those that were named"});
    v("notes", &DeviceList::notes, {.meaning = "what could not be listed, and why"});
  }
};

// Asks all devices at the same time. Throws Error (kUsage) for an invalid name, Error (kInterrupted).
DeviceList FindDevices(const DevicesOptions& options, WorkflowProgress& progress);

}  // namespace etprof
