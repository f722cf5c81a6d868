#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "measure/config/config.h"
#include "measure/participants/participants.h"
#include "measure/schedule/progress.h"
#include "measure/store/run_data.h"

namespace etprof {

// Extra runs of each experiment that a worker runs, in separate processes after the timed launches. If an
// experiment cannot have them, it gets a warning with the reason and the remedy. `setup` returns the
// participant's setup for a unit. `reconnecting` repeats a step after the connection broke and was restored,
// and throws DeviceLost if it is not restored. Both throw DeviceLost, and Error if a file cannot be written.
using MakeUnitSetup = std::function<ParticipantSetup(std::size_t unit)>;
using RepeatAfterReconnect = std::function<void(const std::function<void()>& step)>;

// `--instructions`: counts the instructions of each operator with one thread, by the processor's counters, or
// else in Callgrind or QEMU (with `plugin`). Writes `_instructions.csv` next to the log.
void MeasureInstructions(const Plan& plan, const MakeUnitSetup& setup,
                         const RepeatAfterReconnect& reconnecting, const std::filesystem::path& plugin,
                         Progress* progress, RunData& run);

// `--counters`: reads the processor's counters at each operator boundary. Writes `_counters.csv` next to the
// log.
void MeasureCounters(const Plan& plan, const MakeUnitSetup& setup, const RepeatAfterReconnect& reconnecting,
                     Progress* progress, RunData& run);

// `--watch`: lets the runner watch XNNPACK's calls. Writes `_watch.json` next to the log.
void MeasureWatch(const Plan& plan, const MakeUnitSetup& setup, const RepeatAfterReconnect& reconnecting,
                  Progress* progress, RunData& run);

// `--values`: a run in which the runner reads what each operator wrote; writes what the variants of pairs
// have in common into `values.csv` of the results directory.
void MeasureValues(const Plan& plan, const MakeUnitSetup& setup, const RepeatAfterReconnect& reconnecting,
                   Progress* progress, RunData& run);

// Whether the worker failed because of an interruption. Throws DeviceLost if the connection broke.
bool WasInterrupted(const WorkerFailure& failure, Device& device);

// Groups units that share the machine's peaks: the same runner, wrapper, environment, mask, threads, and
// CPUs. Groups are in the order of their first units.
std::vector<std::vector<std::size_t>> GroupByConditions(const Config& config, const Plan& plan,
                                                        const std::vector<std::size_t>& units);

// Measures the machine's peaks once for each group of experiments (GroupByConditions) and writes peaks.json
// into `folder`. Skips experiments that were emulated, run by a foreign runner, kernel-log runs, or failed.
// Groups whose runner cannot measure peaks, or for which `seconds_left` does not suffice, get a warning in
// `run`. Throws Error if the file cannot be written, DeviceLost.
void MeasurePeaks(const Config& config, const Plan& plan, Device& device, Interruption& interruption,
                  Progress* progress, const std::function<double()>& seconds_left,
                  const std::filesystem::path& folder, RunData& run);

}  // namespace etprof
