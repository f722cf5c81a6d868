#pragma once

#include <optional>

#include "compare/comparison.h"
#include "report/report.h"

namespace etprof {

// Traced runs show where the time of an inference goes, untraced ones how long it takes. A statement that
// joins both is only true where they agree.

// Beyond this relative difference they do not.
inline constexpr double kTracedApart = 0.10;

// Where both were measured.
std::optional<TracedGap> TracedGapOf(const ReportExperiment& experiment);

// Its traced and untraced times disagree: no bound on the latency follows from the traced ones.
bool TracedDisagree(const ReportExperiment& experiment);

// What is between them is not what tracing costs: one of them was disturbed.
bool TracedWereDisturbed(const ReportExperiment& experiment);

// Traced mean of the baseline / of the candidate: the speedup that the tables of operators and groups add up
// to. Present where it lies outside of the headline's interval, widened by kTracedApart.
std::optional<double> TracedRatioApart(const Comparison& comparison);

// Of one experiment, where TracedDisagree.
std::optional<Insight> FindTracedApart(const ReportExperiment& experiment);
// Of a pair, where there is a TracedRatioApart.
std::optional<Insight> FindTracedRatioApart(const Comparison& comparison, const ReportExperiment& baseline,
                                            const ReportExperiment& candidate);

}  // namespace etprof
