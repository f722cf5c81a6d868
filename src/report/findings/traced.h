#pragma once

#include <optional>

#include "profile/compare/comparison.h"
#include "report/report.h"

namespace etprof {

// Traced runs show where the time of an inference goes, untraced runs how long it takes. A statement that
// combines both is only true if they agree.

// Traced and untraced times disagree if they differ by more than this fraction.
inline constexpr double kMaxTracedGap = 0.10;

// The traced and untraced times of an experiment; absent unless both were measured.
std::optional<TracedGap> FindTracedGap(const ReportExperiment& experiment);

// Returns whether traced and untraced times disagree, so that traced times give no bound on the latency.
bool TracedTimesDisagree(const ReportExperiment& experiment);

// Returns whether the difference is not the cost of tracing: traced or untraced runs were disturbed.
bool TracedTimesWereDisturbed(const ReportExperiment& experiment);

// The ratio of the traced means (baseline / candidate), to which the tables of operators and groups add up.
// Absent if it is within the headline's interval, widened by kMaxTracedGap.
std::optional<double> TracedSpeedupDiscrepancy(const Comparison& comparison);

// The finding on an experiment; absent unless TracedTimesDisagree.
std::optional<Finding> FindTracingDiscrepancy(const ReportExperiment& experiment);
// The finding on a pair; absent unless there is a TracedSpeedupDiscrepancy.
std::optional<Finding> FindTracedSpeedupDiscrepancy(const Comparison& comparison,
                                                    const ReportExperiment& baseline,
                                                    const ReportExperiment& candidate);

}  // namespace etprof
