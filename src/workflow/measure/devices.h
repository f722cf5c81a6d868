#pragma once

#include <string>
#include <vector>

#include "device/survey.h"
#include "workflow/progress.h"

namespace etprof {

struct DevicesOptions {
  std::vector<std::string> named;  // beside this machine and those that adb lists
  double answer_seconds = 10;      // one that does not answer for so long cannot be reached
  bool clean = false;              // remove what etprof left on those that are named, or on all

  static void Describe(auto& v) {
    using O = DevicesOptions;
    v("device", &O::named,
      {.meaning = "Show this device, too: ssh:HOST, adb:SERIAL, adb:HOST:PORT. May be repeated",
       .one = true,
       .value = "DEVICE"});
    v("clean", &O::clean,
      {.meaning = "Remove what etprof left on the devices of --device, or on all that can be reached"});
    v("timeout", &O::answer_seconds,
      {.meaning = "Seconds to wait for a device's answer (default: 10)",
       .least = 0.1,
       .most = 3600,
       .value = "S"});
  }
};

struct DevicesFound {
  std::vector<DeviceSurvey> devices;
  std::vector<std::string> notes;  // why devices may be missing

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("devices", &DevicesFound::devices,
      {.meaning = "this machine, those that adb lists, and those that were named"});
    v("notes", &DevicesFound::notes, {.meaning = "what could not be listed, and why"});
  }
};

// Asks all devices at once. Throws Error (kUsage) for a name that is none, (kInterrupted).
DevicesFound FindDevices(const DevicesOptions& options, WorkflowProgress& progress);

}  // namespace etprof
