#pragma once

#include <executorch/runtime/executor/method.h>

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace etprof::runner {

// Digests of what the method's last run left in its outputs. Half and bfloat16 count as floating point like
// the rest; of a complex tensor the two parts are numbers of their own; quantized and bit-packed types have a
// digest only.
std::vector<protocol::OutputDigest> DigestOutputs(const executorch::runtime::Method& method);

// Saves them as safetensors, row-major, named "<method>/<i>"; what is not a tensor goes to the metadata, as
// in an .inputs file. Throws Error (kDeviceFailed) when the file cannot be written.
void SaveOutputs(const executorch::runtime::Method& method, const std::filesystem::path& path);

// executor_runner's two ways to show outputs: BASE-<i>.bin with each tensor's bytes in memory order, and text
// on stdout of which the middle is left out when there are more than 2 * `edge` elements.
void WriteRawOutputs(const executorch::runtime::Method& method, const std::string& base);
void PrintOutputs(const executorch::runtime::Method& method, std::size_t edge);

// Compares two files of SaveOutputs: {"identical", "outputs": [{"name", "dtype", "shape", "identical",
// "max_abs_diff", "max_rel_diff", "mean_abs_diff", "nan_mismatches"} or {"name", "problem"}]}. The relative
// difference is |a-b| / max(|a|,|b|), over elements that are finite in both; a NaN against a number counts as
// a mismatch, and so does an infinity that the other lacks. Throws Error (kBadInput) for a file that is none.
nlohmann::json CompareOutputs(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace etprof::runner
