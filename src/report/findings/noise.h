#pragma once

#include <vector>

#include "report/report.h"

namespace etprof {

// What made an experiment's latency vary while it was measured: a step, or a trend and two levels.
// `experiment` is one of `run`.
std::vector<Insight> FindNoise(const RunData& run, const ReportExperiment& experiment);

}  // namespace etprof
