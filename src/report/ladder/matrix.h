#pragma once

#include <vector>

#include "report/report.h"

namespace etprof {

// The matrices of a report whose experiments and comparisons are filled: one per thread sweep (an experiment
// with several numbers of threads, compared with the smallest), and one per baseline that several experiments
// are compared with. Comparisons of a sweep that the report lacks are computed.
std::vector<Matrix> FindMatrices(const Report& report);

// Baseline time over candidate time: the ratio of the estimate, else the quotient of the times. Absent if a
// variant has no time, or if the times must not be compared: on an emulated CPU, or if other processes
// disturbed the runs.
std::optional<double> SpeedupRatio(const Quantity& quantity);

// Scaling efficiency: speedup / ratio of the threads; 1 is perfect scaling. Absent without a ratio.
std::optional<double> ScalingEfficiency(const Quantity& quantity, int baseline_threads, int threads);

}  // namespace etprof
