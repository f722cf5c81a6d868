#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "measure/store/run_data.h"

namespace etprof {

// SHA-256 of the types, shapes, and values of a method's inputs in an .inputs file, or of the bytes of raw
// files. Equal inputs in two files have one. Empty: there is no file, or it cannot be read.
std::string DigestOfInputs(const std::vector<std::filesystem::path>& files, const std::string& method);

// How the outputs of two experiments differ: by their digests, and where both sides' values were kept
// (safetensors files) by the largest |a - b| and the largest |a - b| / max(|a|, |b|) over all elements (where
// both are finite). Never throws: what cannot be compared is said in `note`.
OutputDifference CompareOutputs(const ExperimentData& baseline, const ExperimentData& candidate,
                                const std::filesystem::path& baseline_values,
                                const std::filesystem::path& candidate_values);

// How an experiment's outputs differ from expected ones, of which the first file may have those of other
// methods, too. Never throws.
OutputDifference CompareWithExpected(const std::filesystem::path& expected_values,
                                     const std::filesystem::path& values);

}  // namespace etprof
