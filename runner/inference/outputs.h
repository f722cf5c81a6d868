#pragma once

#include <executorch/runtime/executor/method.h>

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "inference/model.h"
#include "protocol/messages.h"

namespace etprof::runner {

// Digests of the outputs of the method's last run. Half and bfloat16 count as floating point; the two parts
// of complex elements count as separate numbers; quantized and bit-packed types only have a digest.
std::vector<protocol::OutputDigest> DigestOutputs(const executorch::runtime::Method& method);

// The SHA-256 of each output's bytes, as in DigestOutputs.
std::vector<std::string> HashOutputs(const executorch::runtime::Method& method);
// Runs the selected method once, and hashes its outputs. Throws Error as Model::Run.
std::vector<std::string> RunAndHashOutputs(Model& model);

// Saves the outputs as safetensors, row-major, named "<method>/<i>"; outputs that are not tensors are in the
// metadata, as in an .inputs file. Throws Error (kDeviceFailed) if the file cannot be written.
void SaveOutputs(const executorch::runtime::Method& method, const std::filesystem::path& path);

// Write and print outputs as executor_runner does: <path_prefix>-<i>.bin with each tensor's bytes in memory
// order, and text on stdout that omits the middle if there are more than 2 * `edge` elements.
void WriteRawOutputs(const executorch::runtime::Method& method, const std::string& path_prefix);
void PrintOutputs(const executorch::runtime::Method& method, std::size_t edge);

// Compares two files of SaveOutputs: {"identical", "outputs": [{"name", "dtype", "shape", "identical",
// "max_abs_diff", "max_rel_diff", "mean_abs_diff", "nan_mismatches"} or {"name", "problem"}]}. The relative
// difference is |a-b| / max(|a|,|b|), over elements that are finite in both. A NaN in only one file, or an
// infinity that the other file lacks, counts as a mismatch. Throws Error (kBadInput) for an invalid file.
nlohmann::json CompareOutputs(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace etprof::runner
