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
  bool check_load = true;  // check the load by other processes before the measurement
  // Waits until no other process measures on the device, before anything runs there; may be called again.
  std::function<void()> acquire_device;
  // False: a resumed run only gets its extra runs (counters, instructions, watch).
  bool run_launches = true;
  bool counters = false;                       // also read the processor's counters, in separate runs
  bool instructions = false;                   // also count each operator's instructions, in separate runs
  std::filesystem::path emulator_plugin = {};  // etprof-qemu-counts.so
  bool watch = false;                          // also watch XNNPACK's calls, in separate runs
  bool values = false;                         // also compare the values that operators write in pairs
  std::function<bool()> interrupted;           // Ctrl-C
  Progress* progress = nullptr;
  std::string etprof_version;
  double wait_for_device_seconds = 60;  // how long to wait after the connection broke
  // For a given number of launches: the confidence level of the caller's interim analyses, after which it may
  // add launches; 0: the caller analyzes only once. Recorded as ScheduleData::interim_confidence.
  double interim_confidence = 0;
};

// Measures the experiments of `config` and writes a results directory at config.output_root. Returns what was
// measured, also if the measurement was interrupted or some experiments failed (status,
// ExperimentData::error). Throws Error before anything is measured: for missing or invalid files (kBadInput),
// a results directory in use by another etprof, and runners that cannot be started (kBadInput,
// kDeviceFailed). Throws Error (kDeviceFailed) if results cannot be written; those already written stay.
RunData Measure(const Config& config, Device& device, const MeasureOptions& options);

}  // namespace etprof
