#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/text/text.h"
#include "measure/store/run_data.h"

namespace etprof {

// A condition that differs between two stored measurements, or that is not known for one of them.
struct Mismatch {
  std::string name;                 // a member of MismatchNames()
  std::string baseline, candidate;  // texts to print; may be kUnknownCondition
};
inline constexpr const char* kUnknownCondition = "not known";
// "differ in runner (baseline: 1.5; candidate: 1.6)"
std::string DifferenceText(const Mismatch& mismatch);
// All possible names of a Mismatch, in order.
const std::vector<std::string>& MismatchNames();

// Finds differences in model, device, runner, and conditions between two experiments of two runs. The runner
// is compared by its SHA-256, or by its ExecuTorch version if a run has none. A property that is missing in
// both runs (governor and power mode of a virtual machine) is no mismatch, but an unknown device or runner
// is. Models are compared by the names of their files, since a check compares two exports of one model; the
// backend and data type at the end of an exported name are ignored, and JoinStoredRuns reports their
// differences. An unknown model is no mismatch.
std::vector<Mismatch> FindMismatches(const RunData& baseline_run, const ExperimentData& baseline,
                                     const RunData& candidate_run, const ExperimentData& candidate);

// Finds the experiments that both runs have: with the same name and number of threads, or the only experiment
// of each run. Throws Error (kBadInput) if a run has several with the same name.
using ExperimentMatch = std::pair<const ExperimentData*, const ExperimentData*>;
std::vector<ExperimentMatch> MatchExperiments(const RunData& baseline, const RunData& candidate);

// Joins the experiments that both runs have into one run without rounds, since launches of two sessions
// cannot be paired. Its warnings report the experiments of only one run and the limits of two sessions;
// kernel-log experiments are left out. Throws Error (kBadInput) like MatchExperiments, and if there are no
// common experiments.
RunData JoinStoredRuns(RunData baseline, RunData candidate);

// The names of a run's experiments as one printed text: "off, on, on (4 threads)".
std::string ExperimentNames(const RunData& run);

// Removes the rounds, since launches and rounds of different runs are unrelated.
void RemoveRounds(ExperimentData& data);

// The model of experiments, from their names: "toy_cnn" for "toy_cnn.sme2_off" and "toy_cnn.sme2_on"; "" if
// the names have no common part.
std::string CommonModelName(const DistinctNames& names);

}  // namespace etprof
