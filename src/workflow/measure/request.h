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

// For descriptions: a member of an object's MeasureRequest `measure`.
constexpr auto OfMeasure(auto member) {
  return [member](auto& all) -> auto& { return all.measure.*member; };
}

// What a command line says of a measurement. What is empty or absent is as the configuration has it, or as
// etprof chooses.
struct MeasureRequest {
  std::vector<std::string> devices;  // as --device takes them; empty: this machine, or the configuration's
  DeviceUse use;

  std::string cpus, period, runner, method = "forward", data, exec_wrapper;  // of one model's measurement
  std::vector<std::string> inputs, load;
  std::optional<int> runs, warmup;
  std::vector<int> threads;

  std::optional<double> max_seconds, precision, margin;
  std::optional<int> launches;
  std::string sustained, output_root;
  bool no_peaks = false, counters = false, instructions = false, watch = false, resume = false;

  HistoryRequest history;

  std::string FirstDevice() const { return devices.empty() ? "local" : devices.front(); }
  // The options of a struct that has one as `measure`, by the commands that take them. Their meanings are the
  // help of the command line, too.
  static void DescribeUsual(auto& v) {
    using M = MeasureRequest;
    v("max_seconds", OfMeasure(&M::max_seconds),
      {.meaning = "Time limit in seconds", .least = 0.1, .most = 1e6, .value = "S"});
    v("launches", OfMeasure(&M::launches),
      {.meaning = "Process launches of each experiment", .least = 2, .most = 1e4, .value = "L"});
    v("runs", OfMeasure(&M::runs),
      {.meaning = "Traced runs of each experiment (default: 100)",
       .least = 1,
       .most = kMostRuns,
       .value = "N"});
    v("threads", OfMeasure(&M::threads),
      {.meaning = "Number of threads", .least = 1, .most = kMostThreads, .one = true, .value = "N"});
    v("output_root", OfMeasure(&M::output_root), {.meaning = "Results directory", .value = "DIR"});
    v("resume", OfMeasure(&M::resume), {.meaning = "Resume an interrupted measurement of the same command"});
    v("device", OfMeasure(&M::devices), {.meaning = kDeviceHelp, .one = true, .value = "DEVICE"});
    v.Flat(OfMeasure(&M::use));
  }
  static void DescribeModel(auto& v) {
    using M = MeasureRequest;
    v("cpus", OfMeasure(&M::cpus),
      {.meaning = "Run on these CPUs only: 0,2-3, a mask such as 0x80, or big, mid, little"});
    v("period", OfMeasure(&M::period),
      {.meaning = "Start one inference per interval, e.g., 33ms (default: back to back)", .value = "TIME"});
    v("runner", OfMeasure(&M::runner),
      {.meaning = "Path of etprof-runner or an executor_runner (default: the one next to etprof)",
       .value = "PATH"});
    v("method", OfMeasure(&M::method), {.meaning = "Method to run (default: forward)"});
    v("data", OfMeasure(&M::data), {.meaning = "External weights, a .ptd file", .value = "FILE.ptd"});
    v("inputs", OfMeasure(&M::inputs),
      {.meaning = "Inputs: ones, random, an .inputs file, or one raw file per tensor (default: the inputs "
                  "saved next to the model)",
       .one = true});
    v("load", OfMeasure(&M::load),
      {.meaning =
           "Library of custom operators or of another backend. May be repeated. ExecuTorch's kernels for "
           "LLMs load by themselves",
       .one = true,
       .value = "LIBRARY"});
    v("exec_wrapper", OfMeasure(&M::exec_wrapper),
      {.meaning = "Command that starts the runner, such as an emulator or a tool on the device",
       .value = kCommandLine});
  }
  static void DescribePrecision(auto& v) {
    using M = MeasureRequest;
    v("warmup", OfMeasure(&M::warmup),
      {.meaning = "Minimum warmup runs per launch (default: 10)",
       .least = 0,
       .most = kMostRuns,
       .value = "N"});
    v("precision", OfMeasure(&M::precision),
      {.meaning = "Target half-width of the confidence interval (default: half of --margin)",
       .least = 1e-6,
       .most = 1,
       .value = "P"});
    v("margin", OfMeasure(&M::margin),
      {.meaning = "Differences within ±MARGIN count as \"same\" (default: 0.01)",
       .least = 1e-6,
       .most = 1,
       .value = "MARGIN"});
  }
  static void DescribeWatch(auto& v) {
    v("watch", OfMeasure(&MeasureRequest::watch),
      {.meaning =
           "Watch which kernels run, and on which threads, in separate runs (docs/concepts/kernels.md)"});
  }
  static void DescribeInstructions(auto& v) {
    v("instructions", OfMeasure(&MeasureRequest::instructions),
      {.meaning =
           "Count the instructions of every operator, in separate runs, with the processor's counters, "
           "Callgrind, or QEMU (docs/guides/instructions.md)"});
  }
  static void DescribeKind(auto& v) {
    using M = MeasureRequest;
    v("sustained", OfMeasure(&M::sustained),
      {.meaning = "Run each experiment continuously for this long, one after the other, and show latency, "
                  "clock, and temperature over time",
       .value = "TIME"});
    v("counters", OfMeasure(&M::counters),
      {.meaning = "Read the processor's counters at every operator, in separate runs "
                  "(docs/guides/bottlenecks.md)"});
    DescribeInstructions(v);
    DescribeWatch(v);
    v("no_peaks", OfMeasure(&M::no_peaks),
      {.meaning = "Do not measure the machine's peaks (docs/guides/bottlenecks.md)"});
  }
  static void DescribeHistory(auto& v) { v.Flat(OfMeasure(&MeasureRequest::history)); }

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

// Puts what it says of the whole measurement into the configuration, instead of what that says itself.
void Apply(const MeasureRequest& request, Config& config);
// Likewise --runs and --threads, into every experiment.
void ApplyToExperiments(const MeasureRequest& request, Config& config);

// What the device's CPU has. Throws as AskRunner.
CpuFeatures ReadCpuFeatures(const MeasureRequest& request, WorkflowProgress& progress);

}  // namespace etprof
