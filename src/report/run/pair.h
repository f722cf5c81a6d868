#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace etprof {

// By a run's schedule; where it says nothing, as usual.
CompareOptions CompareOptionsOf(const RunData& run);

// Two experiments of a run.
struct Sides {
  const RunData& run;
  const ReportExperiment &baseline, &candidate;

  const ExperimentData& BaselineData() const { return run.experiments[baseline.index]; }
  const ExperimentData& CandidateData() const { return run.experiments[candidate.index]; }
};

// Their comparison, by the schedule's margin and levels. Labels that are empty are the experiments' own.
// `matches` as in CompareOptions.
Comparison CompareExperiments(const Sides& sides, const std::string& baseline_label = "",
                              const std::string& candidate_label = "",
                              const std::vector<NodePair>* matches = nullptr);

// "12 of 1,960 runs of avx512 off and 900 of 1,960 runs of avx512 on had a processor whenever they wanted
// one".
std::string CleanText(const Comparison& comparison);

// The same of the latency alone: no groups, no operators.
Comparison CompareLatencies(const Sides& sides);

// The same of sets of operators.
std::vector<DeltaRow> CompareSetsOf(const Sides& sides, const std::vector<OperatorSet>& sets);

// What a process costs beside its runs. `paired`: the launches of both sides were measured alternately. The
// estimate is that of the latency, a launch having one value; there is none for fewer than five launches.
SideCosts CompareSideCosts(const Sides& sides, bool paired);

}  // namespace etprof
