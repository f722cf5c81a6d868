#pragma once

#include <functional>

#include "measure/config/config.h"
#include "measure/participants/participants.h"
#include "measure/schedule/progress.h"
#include "measure/store/run_data.h"

namespace etprof {

// What is measured in processes of its own, of every experiment that the worker runs, after the timed ones.
// Why it cannot be had, and what would help, is a warning of the experiment. `setup` gives what a unit's
// participant is made of. Both throw Error where a file cannot be written, DeviceLost.
using SetupOfUnit = std::function<ParticipantSetup(std::size_t unit)>;

// `--counters`: runs that read the counters at each operator boundary; writes `_counters.csv` beside the log.
void MeasureCounters(const Plan& plan, const SetupOfUnit& setup, Progress* progress, RunData& run);

// `--watch`: runs whose calls the runner watches; writes `_watch.json` beside the log.
void MeasureWatch(const Plan& plan, const SetupOfUnit& setup, Progress* progress, RunData& run);

}  // namespace etprof
