#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace etprof {

// Options from a run's schedule, with defaults for missing values.
CompareOptions CompareOptionsOf(const RunData& run);

// Two experiments of a run.
struct Sides {
  const RunData& run;
  const ReportExperiment &baseline, &candidate;

  const ExperimentData& BaselineData() const { return run.experiments[baseline.index]; }
  const ExperimentData& CandidateData() const { return run.experiments[candidate.index]; }
};

// Compares the experiments with the schedule's margin and levels. Empty labels are replaced by the
// experiments' labels. `matches`: see CompareOptions.
Comparison CompareExperiments(const Sides& sides, const std::string& baseline_label = "",
                              const std::string& candidate_label = "",
                              const std::vector<NodePair>* matches = nullptr);

// "12 of 1,960 runs of avx512 off and 900 of 1,960 runs of avx512 on had a processor whenever they wanted
// one".
std::string CleanText(const Comparison& comparison);

// Compares only the latency, without groups and operators.
Comparison CompareLatencies(const Sides& sides);

// Compares sets of operators.
std::vector<DeltaRow> CompareSetsOf(const Sides& sides, const std::vector<OperatorSet>& sets);

// Compares the costs of a process besides its runs. `paired`: the launches of both variants were interleaved.
// The estimate is computed like that of the latency, with one value per launch; absent for fewer than five
// launches.
SideCosts CompareSideCosts(const Sides& sides, bool paired);

}  // namespace etprof
