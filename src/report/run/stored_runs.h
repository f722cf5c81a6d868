#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/text/text.h"
#include "measure/store/run_data.h"

namespace etprof {

// A condition that two stored measurements do not share, or that one of them does not tell.
struct Mismatch {
  std::string name;                 // as in MismatchNames()
  std::string baseline, candidate;  // for people; "not known"
};
// The names that a Mismatch can have, in order.
const std::vector<std::string>& MismatchNames();

// In what model, device, runner and conditions two experiments of two runs differ. The runner is compared by
// its SHA-256, or by its ExecuTorch version where a side has none. What a device does not tell on both sides
// alike (governor and power mode of a virtual machine) is no mismatch; an unknown device or runner is one.
// Models are compared by the names of their files, since two exports of one model are what a check is for;
// without the backend and data type that export ends a name with: JoinStoredRuns says where those differ. A
// model that is not known is no mismatch.
std::vector<Mismatch> FindMismatches(const RunData& baseline_run, const ExperimentData& baseline,
                                     const RunData& candidate_run, const ExperimentData& candidate);

// The experiments that both runs have: of one name and number of threads, or the only one of each run.
// Throws Error (kBadInput) where a run has several of one name.
using ExperimentMatch = std::pair<const ExperimentData*, const ExperimentData*>;
std::vector<ExperimentMatch> MatchExperiments(const RunData& baseline, const RunData& candidate);

// One run of the experiments that both runs have, without rounds, since launches of two sessions cannot be
// paired. What only one run has, and what two sessions cannot show, is said in its warnings; kernel-log
// experiments are left out. Throws Error (kBadInput) as MatchExperiments, and where nothing is common.
RunData JoinStoredRuns(RunData baseline, RunData candidate);

// The names of a run's experiments, for people: "off, on, on (4 threads)".
std::string NamesOf(const RunData& run);

// Launches and rounds of different runs have nothing to do with each other.
void ForgetRounds(ExperimentData& data);

// The model of experiments whose names alone hint at it: "toy_cnn" of "toy_cnn.sme2_off" and
// "toy_cnn.sme2_on"; "" where they do not.
std::string ModelOfNames(const NamesApart& apart);

}  // namespace etprof
