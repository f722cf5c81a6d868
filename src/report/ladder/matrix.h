#pragma once

#include <vector>

#include "report/report.h"

namespace etprof {

// The matrices of a report whose experiments and comparisons are filled: one a thread sweep (an experiment
// with several numbers of threads, against the smallest), one a baseline that several experiments are
// compared with. Comparisons that the report has are used; those of a sweep that it has not are made.
std::vector<Matrix> FindMatrices(const Report& report);

// Baseline time over candidate time: the estimate's ratio, or without one the plain quotient. Absent where a
// side has no time, and where the times are none to compare: of an emulated CPU, or of runs that other
// processes disturbed.
std::optional<double> RatioOf(const Quantity& quantity);

// Speed-up over the ratio of the threads: 1 is perfect scaling. Absent where there is no ratio.
std::optional<double> EfficiencyOf(const Quantity& quantity, int baseline_threads, int threads);

}  // namespace etprof
