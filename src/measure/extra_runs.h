#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "measure/config/config.h"
#include "measure/participants/participants.h"
#include "measure/schedule/progress.h"
#include "measure/store/run_data.h"

namespace etprof {

// Extra runs of each experiment, in separate worker processes after the timed launches. An experiment that
// cannot have extra runs gets a warning with the reason and the remedy. All functions throw DeviceLost, and
// Error if a file cannot be written.
struct ExtraRunsSetup {
  const Plan& plan;
  std::function<ParticipantSetup(std::size_t unit)> make_setup;
  // Repeats a step after the connection broke and was restored; throws DeviceLost if it is not restored.
  std::function<void(const std::function<void()>& step)> retry_after_reconnect;
  Progress* progress = nullptr;
  RunData& run;
};

// `--instructions`: counts the instructions of each operator with one thread, by the processor's counters, or
// else in Callgrind or QEMU (with `plugin`). Writes `_instructions.csv` next to the log.
void MeasureInstructions(const ExtraRunsSetup& setup, const std::filesystem::path& plugin);
// `--counters`: reads the processor's counters at each operator boundary. Writes `_counters.csv` next to the
// log.
void MeasureCounters(const ExtraRunsSetup& setup);
// `--watch`: lets the runner watch XNNPACK's calls. Writes `_watch.json` next to the log.
void MeasureWatch(const ExtraRunsSetup& setup);
// `--values`: makes a run in which the runner reads the value that each operator writes. Compares these
// values between the variants of each pair, and writes the comparisons to `values.csv` of the results
// directory. If there are no pairs, writes each experiment's values to `_values.safetensors` next to its log.
void MeasureValues(const ExtraRunsSetup& setup);

// True if the worker failed because of an interruption. Throws DeviceLost if the connection broke.
bool WasInterrupted(const WorkerFailure& failure, Device& device);

// Groups units that share the machine's peaks: the same runner, wrapper, environment, mask, threads, and
// CPUs. Groups are in the order of their first units.
std::vector<std::vector<std::size_t>> GroupByConditions(const Config& config, const Plan& plan,
                                                        const std::vector<std::size_t>& units);

// Measures the machine's peaks once for each group of experiments (GroupByConditions) and writes peaks.json
// into the results directory. Skips experiments that were emulated, run by a third-party runner, kernel-log
// runs, or failed. Groups whose runner cannot measure peaks, or for which `seconds_left` does not suffice,
// get a warning in the run.
void MeasurePeaks(const ExtraRunsSetup& setup, const Config& config,
                  const std::function<double()>& seconds_left);

}  // namespace etprof
