#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "format/program/program.h"
#include "measure/values/values_row.h"
#include "protocol/values.h"

namespace etprof {

// Of one variant.
struct ReadValue {
  protocol::OperatorValue value;
  std::string stem;  // OperatorStem of its name
  // What the program knows of it; absent and empty: nothing.
  std::optional<std::size_t> node;            // of its delegate's graph, whose output it is
  std::optional<std::uint32_t> debug_handle;  // of that node in the edge program
  std::vector<std::int64_t> shape;
  std::string dtype;           // safetensors' name
  std::optional<float> scale;  // with `zero_point`, of quantized elements
  std::int32_t zero_point = 0;
  bool has_numbers = false;  // its elements are numbers; false: their scale is not known
  std::int64_t element_bytes = 0;
};
struct VariantValues {
  std::string method;
  std::vector<ReadValue> values;                        // in the order of execution
  std::map<std::int64_t, std::vector<std::byte>> kept;  // elements, by OperatorValue::index
};

// Joins the operators to the program, which says how large their values are and what their elements mean.
// What cannot be read says why in `problem`.
std::vector<ReadValue> DescribeValues(const protocol::ValuesReply& reply, const Program& program,
                                      const std::string& method);
// Of those in delegates that can be read.
std::vector<protocol::ValueSize> SizesOf(const std::vector<ReadValue>& values);
// Takes the second reply's digests. Throws std::invalid_argument where it has other operators.
void TakeReply(const protocol::ValuesReply& reply, std::vector<ReadValue>& values);

// Operators of a call are matched by their order where the call has the same ones on both sides, else by the
// node that they compute. The rows are in the baseline's order; what only one side has is no row.
std::vector<ValuesRow> CompareValues(const VariantValues& baseline, const VariantValues& candidate);

std::filesystem::path ValuesFile(const std::filesystem::path& run_directory);
void WriteValues(const std::vector<ValuesRow>& rows, std::ostream& out);
// A value of `_values.safetensors` (docs/reference/files.md): what the tensor named `tensor` is.
struct SavedValue {
  std::string key, name, tensor;
  std::string note;  // why there is no tensor; "": there is
  std::vector<std::int64_t> shape;
  std::optional<float> scale;
  std::int32_t zero_point = 0;
  std::optional<std::uint32_t> debug_handle;

  static void Describe(auto& v) {
    using S = SavedValue;
    v("key", &S::key, {.meaning = "as `node_id` of timelines"});
    v("name", &S::name, {.meaning = "as in traces"});
    v("tensor", &S::tensor, {.meaning = "its name in the file; empty: `note` says why there is none"});
    v("note", &S::note, {.meaning = "why there is no tensor"});
    v("shape", &S::shape, {.meaning = "of a delegate's value; empty: a kernel's, or a single number"});
    v("scale", &S::scale, {.meaning = "of quantized elements; null: they are numbers"});
    v("zero_point", &S::zero_point, {.meaning = "of quantized elements", .least = kAnyNumber});
    v("debug_handle", &S::debug_handle, {.meaning = "in the edge program; null: not known"});
  }
};
// The values of one variant, for whoever has others to compare them with (`etprof accuracy`).
void SaveValues(const VariantValues& variant, const std::filesystem::path& path);
// What the runner wrote beside its reply. Throws as ReadSafetensors.
void TakeKept(const std::filesystem::path& path, VariantValues& variant);

// Empty where there are none. Throws Error (kBadInput) with file and line.
std::vector<ValuesRow> LoadValues(const std::filesystem::path& run_directory);

}  // namespace etprof
