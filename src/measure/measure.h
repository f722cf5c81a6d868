#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "device/device.h"
#include "measure/config/config.h"
#include "measure/schedule/progress.h"
#include "measure/store/run_data.h"

namespace etprof {

struct MeasureOptions {
  bool resume = false;
  bool look_at_load = true;  // at what other processes use, before it begins
  // Waits until nobody else measures there, before anything runs on the device; may be called again.
  std::function<void()> take_turn;
  // False: a resumed run is only given its extra runs (counters, watch).
  bool launches = true;
  bool counters = false;                       // read the processor's counters in runs of their own, too
  bool instructions = false;                   // count each operator's instructions in runs of their own, too
  std::filesystem::path emulator_plugin = {};  // etprof-qemu-counts.so
  bool watch = false;                          // watch XNNPACK's calls in runs of their own, too
  std::function<bool()> interrupted;           // Ctrl-C
  Progress* progress = nullptr;
  std::string etprof_version;
  double wait_for_device_seconds = 60;  // after its connection broke
  // With a given number of launches: the level at which the caller looks, who may go on with more; 0: it
  // looks once. Recorded as ScheduleData::look_confidence.
  double look_confidence = 0;
};

// Measures what `config` says and leaves a results directory at config.output_root. Returns what was
// measured, also when it was interrupted or some experiments failed (status, ExperimentData::error). Throws
// Error before anything is measured: files that are missing or wrong (kBadInput), a results directory that
// another etprof holds, runners that cannot be started (kBadInput, kDeviceFailed). Throws Error
// (kDeviceFailed) where results cannot be written; what was written before stays.
RunData Measure(const Config& config, Device& device, const MeasureOptions& options);

}  // namespace etprof
