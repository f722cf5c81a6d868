#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "measure/config/config.h"
#include "report/cpu_features.h"
#include "workflow/analyze/history.h"
#include "workflow/measure/device.h"

namespace etprof {

// What a command line says of a measurement. What is empty or absent is as the configuration has it, or as
// etprof chooses.
struct MeasureRequest {
  std::vector<std::string> devices;  // as --device takes them; empty: this machine, or the configuration's
  DeviceUse use;

  std::string cpus, period, runner, method = "forward", data, exec_wrapper;  // of one model's measurement
  std::vector<std::string> inputs;
  std::optional<int> runs, warmup;
  std::vector<int> threads;

  std::optional<double> max_seconds, precision, margin;
  std::optional<int> launches;
  std::string sustained, output_root;
  bool no_peaks = false, counters = false, watch = false, resume = false;

  HistoryRequest history;

  std::string FirstDevice() const { return devices.empty() ? "local" : devices.front(); }
  // The first option of one model's measurement, but --runs, --warmup and --threads, that was given; empty:
  // none. A configuration file says these itself.
  std::string GivenOfModel() const;
};

// What can be said before there is a device. Throws Error (kUsage) for CPUs, a period or a sustained time
// that are none, and a number of threads that repeats.
void RequireSensible(const MeasureRequest& request);

// The experiment of `model` that it says. Throws Error (kUsage) for CPUs that are none, kBadInput where there
// is no runner.
ExperimentConfig ExperimentOf(const MeasureRequest& request, const std::string& model, const Device& device,
                              const DeviceProperties& properties);

// Puts what it says of the whole measurement into the configuration, in place of what that says itself.
void Apply(const MeasureRequest& request, Config& config);
// Likewise --runs and --threads, into every experiment.
void ApplyToExperiments(const MeasureRequest& request, Config& config);

// What the device's CPU has. Throws as AskRunner.
CpuFeatures ReadCpuFeatures(const MeasureRequest& request, WorkflowProgress& progress);

}  // namespace etprof
