#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/gate/history.h"
#include "commands/measurement/device.h"
#include "device/device.h"
#include "measure/config/config.h"
#include "report/cpu_features.h"

namespace etprof {

// Common options of the commands that measure, from which their own options derive. Empty or absent values
// are taken from the configuration, or etprof's defaults.
struct MeasureRequest : DeviceOptions {
  std::vector<std::string> devices;  // as --device takes them; empty: the configuration's, or this machine

  // Options of a single model; a configuration sets them per experiment.
  std::string cpus, period, runner, method = "forward", data, exec_wrapper;
  std::vector<std::string> inputs, load;
  std::optional<int> runs, warmup;
  std::vector<int> threads;

  std::optional<double> max_seconds, precision, margin;
  std::optional<int> launches;
  std::string sustained, output_root;
  bool no_peaks = false, counters = false, instructions = false, watch = false, values = false,
       resume = false;

  HistoryRequest history;

  std::string FirstDevice() const { return devices.empty() ? "local" : devices.front(); }
  // Describe the options, grouped by the commands that accept them. Their meanings are also the help of the
  // command line.
  static void DescribeBasicOptions(auto& v) {
    using M = MeasureRequest;
    v("max_seconds", &M::max_seconds, NumberOption("Time limit in seconds", 0.1, 1e6, "S"));
    v("launches", &M::launches, NumberOption("Process launches of each experiment", 2, 1e4, "L"));
    v("runs", &M::runs, NumberOption("Traced runs of each experiment (default: 100)", 1, kMaxRuns, "N"));
    v("threads", &M::threads,
      {.meaning = "Number of threads", .min = 1, .max = kMaxThreads, .or_single = true, .value = "N"});
    v("output_root", &M::output_root, {.meaning = "Results directory", .value = "DIR"});
    v("resume", &M::resume, {.meaning = "Resume an interrupted measurement of the same command"});
    v("device", &M::devices, {.meaning = kDeviceHelp, .or_single = true, .value = "DEVICE"});
    DeviceOptions::Describe(v);
  }
  static void DescribeModel(auto& v) {
    using M = MeasureRequest;
    v("cpus", &M::cpus,
      {.meaning = "Run on these CPUs only: 0,2-3, a mask such as 0x80, or big, mid, little"});
    v("period", &M::period,
      {.meaning = "Start one inference per interval, e.g., 33ms (default: back to back)", .value = "TIME"});
    v("runner", &M::runner,
      {.meaning = "Path of etprof-runner or an executor_runner (default: the one next to etprof)",
       .value = "PATH"});
    v("method", &M::method, {.meaning = "Method to run (default: forward)"});
    v("data", &M::data, {.meaning = "External weights, a .ptd file", .value = "FILE.ptd"});
    v("inputs", &M::inputs,
      {.meaning = "Inputs: ones, random, an .inputs file, or one raw file per tensor (default: the inputs "
                  "saved next to the model)",
       .or_single = true});
    v("load", &M::load,
      {.meaning =
           "Library of custom operators or of another backend. May be repeated. ExecuTorch's kernels for "
           "LLMs load by themselves",
       .or_single = true,
       .value = "LIBRARY"});
    v("exec_wrapper", &M::exec_wrapper,
      {.meaning = "Command that starts the runner, such as an emulator or a tool on the device",
       .value = kCommandLine});
  }
  static void DescribePrecision(auto& v) {
    using M = MeasureRequest;
    v("warmup", &M::warmup, NumberOption("Minimum warmup runs per launch (default: 10)", 0, kMaxRuns, "N"));
    v("precision", &M::precision,
      NumberOption("Target half-width of the confidence interval (default: half of --margin)", 1e-6, 1, "P"));
    v("margin", &M::margin,
      NumberOption("Differences within ±MARGIN count as \"same\" (default: 0.01)", 1e-6, 1, "MARGIN"));
  }
  static void DescribeWatch(auto& v) {
    v("watch", &MeasureRequest::watch,
      {.meaning =
           "Watch which kernels run, and on which threads, in separate runs (docs/concepts/kernels.md)"});
  }
  static void DescribeInstructions(auto& v) {
    v("instructions", &MeasureRequest::instructions,
      {.meaning =
           "Count the instructions of every operator, in separate runs, with the processor's counters, "
           "Callgrind, or QEMU (docs/guides/instructions.md)"});
  }
  static void DescribeMeasurementKinds(auto& v) {
    using M = MeasureRequest;
    v("sustained", &M::sustained,
      {.meaning = "Run each experiment continuously for this long, one after the other, and show latency, "
                  "clock, and temperature over time",
       .value = "TIME"});
    v("counters", &M::counters,
      {.meaning = "Read the processor's counters at every operator, in separate runs "
                  "(docs/guides/bottlenecks.md)"});
    DescribeInstructions(v);
    DescribeWatch(v);
    v("values", &M::values,
      {.meaning = "Compare what each operator writes in the variants, in separate runs "
                  "(docs/guides/values.md)"});
    v("no_peaks", &M::no_peaks,
      {.meaning = "Do not measure the machine's peaks (docs/guides/bottlenecks.md)"});
  }
  static void DescribeHistory(auto& v) { v.Flat(&MeasureRequest::history); }

  // Returns the first given option that applies only to a single model (except for --runs, --warmup, and
  // --threads), such as "--cpus"; empty: none. A configuration file sets these itself.
  std::string FirstModelOption() const;
};

// Checks the options that can be checked without a device. Throws Error (kUsage) for invalid CPUs, periods,
// and sustained times, and for repeated numbers of threads.
void RequireValidRequest(const MeasureRequest& request);

// Makes the experiment of `model` that the request describes. Throws Error (kUsage) for invalid CPUs, Error
// (kBadInput) if there is no runner.
ExperimentConfig MakeExperimentConfig(const MeasureRequest& request, const std::string& model,
                                      const Device& device, const DeviceProperties& properties);

// Overrides the configuration's settings of the whole measurement with those that the request has. Throws
// Error (kUsage) if the request sets limits of time, launches, or precision for a sustained measurement.
void Apply(const MeasureRequest& request, Config& config);
// Overrides runs and threads of every experiment with those that the request has.
void ApplyToExperiments(const MeasureRequest& request, Config& config);

// Reads the CPU features of the device. Throws as QueryRunner.
CpuFeatures ReadCpuFeatures(const MeasureRequest& request, WorkflowProgress& progress);

}  // namespace etprof
