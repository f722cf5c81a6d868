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
  std::vector<std::string> inputs;
  std::optional<int> runs, warmup;
  std::vector<int> threads;

  std::optional<double> max_seconds, precision, margin;
  std::optional<int> launches;
  std::string sustained, output_root;
  bool no_peaks = false, counters = false, watch = false, resume = false;

  HistoryRequest history;

  std::string FirstDevice() const { return devices.empty() ? "local" : devices.front(); }
  // The options of a struct that has one as `measure`, by the commands that take them.
  static void DescribeUsual(auto& v) {
    v("device", OfMeasure(&MeasureRequest::devices), {.meaning = "where it is measured", .one = true});
    v.Flat(OfMeasure(&MeasureRequest::use));
    v("max_seconds", OfMeasure(&MeasureRequest::max_seconds), {.least = 0.1, .most = 1e6});
    v("launches", OfMeasure(&MeasureRequest::launches),
      {.meaning = "processes of each experiment", .least = 2, .most = 1e4});
    v("runs", OfMeasure(&MeasureRequest::runs),
      {.meaning = "traced runs of each experiment", .least = 1, .most = kMostRuns});
    v("threads", OfMeasure(&MeasureRequest::threads), {.least = 1, .most = kMostThreads, .one = true});
    v("output_root", OfMeasure(&MeasureRequest::output_root), {.meaning = "the results directory"});
    v("resume", OfMeasure(&MeasureRequest::resume), {.meaning = "go on where it was interrupted"});
  }
  static void DescribeModel(auto& v) {
    v("cpus", OfMeasure(&MeasureRequest::cpus), {.meaning = "that it runs on: \"0,2-3\", \"big\""});
    v("period", OfMeasure(&MeasureRequest::period), {.meaning = "start an inference so often: \"33ms\""});
    v("runner", OfMeasure(&MeasureRequest::runner), {.meaning = "etprof-runner, or any executor_runner"});
    v("method", OfMeasure(&MeasureRequest::method));
    v("data", OfMeasure(&MeasureRequest::data), {.meaning = "external weights, a .ptd file"});
    v("inputs", OfMeasure(&MeasureRequest::inputs),
      {.meaning = "\"ones\", \"random\", an .inputs file, or a list of raw files", .one = true});
    v("exec_wrapper", OfMeasure(&MeasureRequest::exec_wrapper),
      {.meaning = "a command before the runner, such as an emulator"});
  }
  static void DescribePrecision(auto& v) {
    v("warmup", OfMeasure(&MeasureRequest::warmup),
      {.meaning = "least number of unrecorded runs of a launch", .least = 0, .most = kMostRuns});
    v("precision", OfMeasure(&MeasureRequest::precision),
      {.meaning = "half-width of the interval to reach", .least = 1e-6, .most = 1});
    v("margin", OfMeasure(&MeasureRequest::margin),
      {.meaning = "differences within it are \"same\"", .least = 1e-6, .most = 1});
  }
  static void DescribeWatch(auto& v) {
    v("watch", OfMeasure(&MeasureRequest::watch), {.meaning = "which kernels run on which threads"});
  }
  static void DescribeKind(auto& v) {
    v("sustained", OfMeasure(&MeasureRequest::sustained),
      {.meaning = "run each experiment so long without a rest: \"10min\""});
    v("counters", OfMeasure(&MeasureRequest::counters), {.meaning = "of the processor, at every operator"});
    DescribeWatch(v);
    v("no_peaks", OfMeasure(&MeasureRequest::no_peaks), {.meaning = "the machine's peaks are not measured"});
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
