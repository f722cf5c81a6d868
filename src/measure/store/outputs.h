#pragma once

#include <filesystem>

#include "measure/store/run_data.h"

namespace etprof {

// How the outputs of two experiments differ: by their digests, and where both sides' values were kept
// (safetensors files) by the largest |a - b| and the largest |a - b| / max(|a|, |b|) over all elements (where
// both are finite). Never throws: what cannot be compared is said in `note`.
ComparePair::OutputDifference CompareOutputs(const ExperimentData& baseline, const ExperimentData& candidate,
                                             const std::filesystem::path& baseline_values,
                                             const std::filesystem::path& candidate_values);

}  // namespace etprof
