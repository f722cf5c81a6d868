#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace etprof {

// Returns whether each experiment has complete or partial launches enough for an interval
// (stats::kMinLaunches).
bool HaveSeveralLaunches(const RunData& run);

// Options from a run's schedule, with defaults for missing values.
CompareOptions MakeCompareOptions(const RunData& run);

struct ExperimentPair {
  const RunData& run;
  const ReportExperiment &baseline, &candidate;

  const ExperimentData& BaselineData() const { return run.experiments[baseline.index]; }
  const ExperimentData& CandidateData() const { return run.experiments[candidate.index]; }
  // Returns whether the variants ran with different ExecuTorch releases, and nothing else differs, except
  // that each may have run its own export.
  bool DifferInRelease() const;
  // Returns whether each variant ran a program that its own ExecuTorch release exported.
  bool RanOwnExports() const;
};

// Compares the experiments with the schedule's margin and levels. Empty labels are replaced by the
// experiments' labels. `matches`: see CompareOptions.
Comparison CompareExperiments(const ExperimentPair& variants, const std::string& baseline_label = "",
                              const std::string& candidate_label = "",
                              const std::vector<NodePair>* matches = nullptr);

// "12 of 1,960 runs of avx512 off and 900 of 1,960 runs of avx512 on had a processor whenever they wanted
// one".
std::string CleanRunsText(const Comparison& comparison);

using LaunchValues = std::map<int, double>;  // keyed by launch index

// Returns the positive values of complete launches; if several experiments ran in the launch's process, their
// largest value.
LaunchValues CollectValues(const std::vector<const ExperimentData*>& experiments, const auto& value) {
  LaunchValues values;
  for (const ExperimentData* data : experiments) {
    for (const Launch& launch : data->launches) {
      if (launch.status != Launch::Status::kComplete) continue;
      if (const auto launch_value = std::invoke(value, launch); launch_value && *launch_value > 0)
        values[launch.index] = std::max(values[launch.index], static_cast<double>(*launch_value));
    }
  }
  return values;
}

// Compares values of launches. `paired`: the launches of both variants were interleaved; else the estimate
// includes `drift`, as EstimateLaunchesWithDrift.
std::optional<stats::RatioEstimate> EstimateLaunches(const LaunchValues& baseline,
                                                     const LaunchValues& candidate, bool paired,
                                                     double confidence, double drift);

// Compares only the latency, without groups and operators.
Comparison CompareLatencies(const ExperimentPair& variants);

// Compares the times of sets of operators: one row for each set.
std::vector<DeltaRow> CompareExperimentSets(const ExperimentPair& variants,
                                            const std::vector<OperatorSet>& sets);

// The least number of launches for the interval of a startup cost. The first process of a launch finds colder
// caches, and the random order of the processes needs several launches to even out.
inline constexpr std::size_t kMinStartupLaunches = 5;

// Compares the costs of a process besides its runs. `paired`: the launches of both variants were interleaved.
// The estimate is computed like that of the latency, with one value per launch; absent for fewer than
// kMinStartupLaunches.
StartupCosts CompareStartupCosts(const ExperimentPair& variants, bool paired);

}  // namespace etprof
