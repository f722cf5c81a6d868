#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "measure/store/run_data.h"

namespace etprof {

// SHA-256 of the types, shapes, and values of a method's inputs in .inputs files, or of the bytes of raw
// files. Equal inputs in different files have equal digests. Empty: no files, no inputs of the method, or an
// unreadable file.
std::string HashInputs(const std::vector<std::filesystem::path>& files, const std::string& method);

// Compares the outputs of two experiments by their digests. If the safetensors files with both experiments'
// values exist, also computes the largest |a - b| and the largest |a - b| / max(|a|, |b|) over all elements
// that are finite in both. Never throws: OutputDifference::note says what could not be compared.
OutputDifference CompareOutputs(const ExperimentData& baseline, const ExperimentData& candidate,
                                const std::filesystem::path& baseline_values,
                                const std::filesystem::path& candidate_values);

// Compares an experiment's outputs with the expected values of the same method; `expected_values` may also
// have those of other methods. Never throws.
OutputDifference CompareWithExpected(const std::filesystem::path& expected_values,
                                     const std::filesystem::path& values);

}  // namespace etprof
