#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace etprof {

// The comparison of two experiments of a run, by its schedule's margin and levels. Labels that are empty are
// the experiments' own. `matches` as in CompareOptions.
Comparison CompareExperiments(const RunData& run, const ReportExperiment& baseline,
                              const ReportExperiment& candidate, const std::string& baseline_label = "",
                              const std::string& candidate_label = "",
                              const std::vector<MatchedPair>* matches = nullptr);

// The same of the latency alone: no groups, no operators.
Comparison CompareLatencies(const RunData& run, const ReportExperiment& baseline,
                            const ReportExperiment& candidate);

// The same of sets of operators.
std::vector<DeltaRow> CompareSetsOf(const RunData& run, const ReportExperiment& baseline,
                                    const ReportExperiment& candidate, const std::vector<OperatorSet>& sets);

// What a process costs beside its runs. `paired`: the launches of both sides were measured alternately. The
// estimate is that of the latency, a launch having one value; there is none for fewer than five launches.
SideCosts CompareSideCosts(const RunData& run, const ReportExperiment& baseline,
                           const ReportExperiment& candidate, bool paired);

}  // namespace etprof
