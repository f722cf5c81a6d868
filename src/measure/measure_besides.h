#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "measure/config/config.h"
#include "measure/participants/participants.h"
#include "measure/schedule/progress.h"
#include "measure/store/run_data.h"

namespace etprof {

// What is measured in processes of its own, of every experiment that the worker runs, after the timed ones.
// Why it cannot be had, and what would help, is a warning of the experiment. `setup` gives what a unit's
// participant is made of. `reconnecting` repeats a step after its connection broke and came back; it throws
// DeviceLost if that does not come back. Both throw Error where a file cannot be written, DeviceLost.
using SetupOfUnit = std::function<ParticipantSetup(std::size_t unit)>;
using Reconnecting = std::function<void(const std::function<void()>& step)>;

// `--instructions`: processes that count the instructions of each operator, of one thread: by the processor's
// counters, else in Callgrind or QEMU (with `plugin`); writes `_instructions.csv` beside the log.
void MeasureInstructions(const Plan& plan, const SetupOfUnit& setup, const Reconnecting& reconnecting,
                         const std::filesystem::path& plugin, Progress* progress, RunData& run);

// `--counters`: runs that read the counters at each operator boundary; writes `_counters.csv` beside the log.
void MeasureCounters(const Plan& plan, const SetupOfUnit& setup, const Reconnecting& reconnecting,
                     Progress* progress, RunData& run);

// `--watch`: runs whose calls the runner watches; writes `_watch.json` beside the log.
void MeasureWatch(const Plan& plan, const SetupOfUnit& setup, const Reconnecting& reconnecting,
                  Progress* progress, RunData& run);

// Whether that is why the worker failed. Throws DeviceLost where the device is why.
bool WasInterrupted(const WorkerFailure& failure, Device& device);

// The given units of the plan, apart by what their roofs depend on: runner, wrapper, environment, mask,
// threads and CPUs. In the order of the units.
std::vector<std::vector<std::size_t>> GroupByConditions(const Config& config, const Plan& plan,
                                                        const std::vector<std::size_t>& units);

// Measures the machine's peaks for a run's experiments, once for all that have runner, mask, threads and CPUs
// in common, and writes peaks.json into `folder`. Left out are experiments that were emulated, of a foreign
// runner, kernel-log, or failed. A runner that cannot is a warning in `run`: what was measured of the
// models is worth no less, and so are peaks that `seconds_left` of the time limit do not suffice for. Throws
// Error where the file cannot be written, DeviceLost.
void MeasurePeaks(const Config& config, const Plan& plan, Device& device, Interruption& interruption,
                  Progress* progress, const std::function<double()>& seconds_left,
                  const std::filesystem::path& folder, RunData& run);

}  // namespace etprof
