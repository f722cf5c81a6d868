#pragma once

#include <string>

#include "device/device.h"
#include "measure/config/config.h"

namespace etprof {

struct RunData;

struct MeasureAndShowOptions {
  bool resume = false;
  bool json = false, all = false;
  std::string resume_command;  // what to type to go on after an interruption
  double wait_for_device_seconds = 60;
  bool counters = false;  // as MeasureOptions
};

struct MeasureWithProgressOptions {
  bool resume = false;
  bool look_at_load = true;    // as MeasureOptions
  double look_confidence = 0;  // as MeasureOptions
  double wait_for_device_seconds = 60;
  bool counters = false;
};

// Measures on the device with a progress line on stderr. Ctrl-C ends the measurement in good order (a
// second one at once). Throws as Measure.
RunData MeasureWithProgress(const Config& config, Device& device, const MeasureWithProgressOptions& options);

// Tells on stderr that a measurement was interrupted, and how to go on. Returns the exit code.
int TellInterruption(const RunData& run, const std::string& resume_command);

// Tells on stderr which experiments failed, and why; of several devices also on which. Returns whether there
// was one.
bool TellFailures(const RunData& run, const std::string& device = "");

// MeasureWithProgress, then analyses and shows the run. Returns the exit code.
int MeasureAndShow(const Config& config, Device& device, const MeasureAndShowOptions& options);

}  // namespace etprof
