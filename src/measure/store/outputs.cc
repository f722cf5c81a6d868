#include "measure/store/outputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/tensors/tensor_values.h"

namespace etprof {
namespace {

// Adds by how much the tensors differ, where the two files have the same ones.
void CompareValues(const Safetensors& a, const Safetensors& b, OutputDifference& difference) {
  if (a.tensors.empty()) return;
  double absolute = 0, relative = 0;
  std::int64_t mismatches = 0;
  for (const auto& [name, tensor] : a.tensors) {
    const auto other = b.tensors.find(name);
    if (other == b.tensors.end()) return;
    const TensorDifference of = CompareTensors(tensor, other->second);
    if (!of.problem.empty()) return;
    absolute = std::max(absolute, of.largest);
    relative = std::max(relative, of.largest_relative);
    mismatches += of.nan_mismatches;
  }
  if (mismatches > 0) {
    difference.note = fmt::format("{} elements are NaN or infinite in only one variant", mismatches);
    return;
  }
  difference.largest_absolute = absolute;
  difference.largest_relative = relative;
  difference.note = fmt::format("outputs differ by at most {:.2g} (relative {:.2g})", absolute, relative);
}

}  // namespace

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
  difference.comparable = a.size() == b.size();
  difference.equal = difference.comparable;
  for (std::size_t i = 0; i < a.size() && difference.comparable; ++i) {
    difference.comparable = a[i].info.dtype == b[i].info.dtype && a[i].info.shape == b[i].info.shape;
    difference.equal = difference.equal && a[i].sha256 == b[i].sha256;
  }
  if (!difference.comparable) {
    difference.equal = false;
    difference.note = "outputs differ in number, type, or shape";
    return difference;
  }
  if (difference.equal) {
    difference.note = "outputs are equal, bit for bit";
    return difference;
  }
  difference.note = "outputs differ";
  if (baseline.inputs_from != candidate.inputs_from) {
    difference.note = "outputs differ, and so do the inputs";
    return difference;
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(baseline_values, error) ||
      !std::filesystem::is_regular_file(candidate_values, error)) {
    return difference;
  }
  try {
    CompareValues(ReadSafetensors(baseline_values), ReadSafetensors(candidate_values), difference);
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
    difference.comparable = expected.tensors.size() == actual.tensors.size();
    difference.equal = difference.comparable;
    for (const auto& [name, tensor] : expected.tensors) {
      const auto found = actual.tensors.find(name);
      if (found == actual.tensors.end()) {
        difference.comparable = false;
        break;
      }
      const TensorDifference of = CompareTensors(tensor, found->second);
      difference.comparable = difference.comparable && of.problem.empty();
      difference.equal = difference.equal && of.identical;
    }
    if (!difference.comparable) {
      difference.note = "outputs differ in number, type, or shape";
    } else if (difference.equal) {
      difference.note = "outputs are equal, bit for bit";
    } else {
      CompareValues(expected, actual, difference);
    }
  } catch (const Error&) {
    difference.note = "their values could not be read";
  }
  return difference;
}

}  // namespace etprof
