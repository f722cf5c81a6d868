#include "measure/store/outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/file/sha256.h"
#include "core/tensors/tensor_values.h"

namespace etprof {
namespace {

// The largest differences over all tensors; absent: no tensors, or the files have different tensors.
std::optional<TensorDifference> CompareValues(const Safetensors& a, const Safetensors& b) {
  if (a.tensors.empty() || a.tensors.size() != b.tensors.size()) return std::nullopt;
  TensorDifference overall;
  overall.identical = true;
  for (const auto& [name, tensor] : a.tensors) {
    const auto counterpart = b.tensors.find(name);
    if (counterpart == b.tensors.end()) return std::nullopt;
    const TensorDifference current = CompareTensors(tensor, counterpart->second);
    if (!current.problem.empty()) return std::nullopt;
    overall.identical = overall.identical && current.identical;
    overall.largest = std::max(overall.largest, current.largest);
    overall.largest_relative = std::max(overall.largest_relative, current.largest_relative);
    overall.nan_mismatches += current.nan_mismatches;
  }
  return overall;
}

void AddLargest(const TensorDifference& overall, OutputDifference& difference) {
  if (overall.nan_mismatches > 0) {
    difference.note =
        fmt::format("{} elements are NaN or infinite in only one variant", overall.nan_mismatches);
    return;
  }
  difference.largest_absolute = overall.largest;
  difference.largest_relative = overall.largest_relative;
  difference.note = fmt::format("outputs differ by at most {:.2g} (relative {:.2g})", overall.largest,
                                overall.largest_relative);
}

// Absent: not known. Inputs from different places may have the same values.
std::optional<bool> HaveSameInputs(const ExperimentData& a, const ExperimentData& b) {
  if (!a.inputs_sha256.empty() && !b.inputs_sha256.empty()) return a.inputs_sha256 == b.inputs_sha256;
  if (a.inputs_from == b.inputs_from) return true;
  return std::nullopt;
}

}  // namespace

std::string HashInputs(const std::vector<std::filesystem::path>& files, const std::string& method) {
  std::string text;
  try {
    for (const std::filesystem::path& file : files) {
      if (file.extension() != ".inputs") {
        text += Sha256HexOfFile(file) + "\n";
        continue;
      }
      const Safetensors saved = ReadSafetensors(file);
      for (const auto& [name, tensor] : saved.tensors) {
        if (!name.starts_with(method + "/")) continue;
        text += fmt::format("{} {} [{}] {}\n", name.substr(method.size()), tensor.dtype,
                            fmt::join(tensor.shape, ","), Sha256Hex(tensor.bytes));
      }
    }
  } catch (const Error&) {
    return "";
  }
  return text.empty() ? "" : Sha256HexOfText(text);
}

OutputDifference CompareOutputs(const ExperimentData& baseline, const ExperimentData& candidate,
                                const std::filesystem::path& baseline_values,
                                const std::filesystem::path& candidate_values) {
  OutputDifference difference;
  const auto& a = baseline.output_digests;
  const auto& b = candidate.output_digests;
  if (a.empty() || b.empty()) {
    difference.note = "the outputs of one variant are not known";
    return difference;
  }
  if (a.size() != b.size()) {
    difference.note = fmt::format("outputs differ in number: {} and {}", a.size(), b.size());
    return difference;
  }
  difference.equal = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].info.dtype != b[i].info.dtype || a[i].info.shape != b[i].info.shape) {
      difference.equal = false;
      difference.note =
          fmt::format("outputs differ in type or shape: output {} is {} [{}] and {} [{}]", i, a[i].info.dtype,
                      fmt::join(a[i].info.shape, ", "), b[i].info.dtype, fmt::join(b[i].info.shape, ", "));
      return difference;
    }
    difference.equal = difference.equal && a[i].sha256 == b[i].sha256;
  }
  difference.comparable = true;
  if (difference.equal) {
    difference.note = "outputs are equal, bit for bit";
    return difference;
  }
  difference.note = "outputs differ";
  if (const std::optional<bool> same_inputs = HaveSameInputs(baseline, candidate);
      !same_inputs.value_or(false)) {
    difference.note =
        same_inputs ? "outputs differ, and so do the inputs" : "outputs differ; the inputs may, too";
    return difference;
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(baseline_values, error) ||
      !std::filesystem::is_regular_file(candidate_values, error)) {
    return difference;
  }
  try {
    const auto overall = CompareValues(ReadSafetensors(baseline_values), ReadSafetensors(candidate_values));
    if (overall) AddLargest(*overall, difference);
  } catch (const Error&) {
    difference.note = "outputs differ; their values could not be read";
  }
  return difference;
}

OutputDifference CompareWithExpected(const std::filesystem::path& expected_values,
                                     const std::filesystem::path& values) {
  OutputDifference difference;
  try {
    Safetensors expected = ReadSafetensors(expected_values);
    const Safetensors actual = ReadSafetensors(values);
    if (actual.tensors.empty()) {
      difference.note = "only outputs that are no tensors";
      return difference;
    }
    const std::string& first = actual.tensors.begin()->first;
    const std::string method = first.substr(0, first.rfind('/') + 1);
    std::erase_if(expected.tensors, [&](const auto& tensor) { return !tensor.first.starts_with(method); });
    const std::optional<TensorDifference> overall = CompareValues(expected, actual);
    difference.comparable = overall.has_value();
    difference.equal = overall && overall->identical;
    if (!difference.comparable) {
      difference.note = "outputs differ in number, type, or shape";
    } else if (difference.equal) {
      difference.note = "outputs are equal, bit for bit";
    } else {
      AddLargest(*overall, difference);
    }
  } catch (const Error&) {
    difference.note = "their values could not be read";
  }
  return difference;
}

}  // namespace etprof
