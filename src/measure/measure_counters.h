#pragma once

#include <functional>

#include "measure/config/config.h"
#include "measure/participants/participants.h"
#include "measure/schedule/progress.h"
#include "measure/store/run_data.h"

namespace etprof {

// `--counters`: for every experiment that the worker runs, a process of its own whose runs read the counters
// at each operator boundary; writes `_counters.csv` beside its log. What cannot be counted, and what would
// open it, is a warning of the experiment. `setup` gives what a unit's participant is made of. Throws Error
// where a file cannot be written, DeviceLost.
void MeasureCounters(const Plan& plan, const std::function<ParticipantSetup(std::size_t unit)>& setup,
                     Progress* progress, RunData& run);

}  // namespace etprof
