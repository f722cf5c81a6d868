#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "protocol/values.h"

namespace etprof {

struct Program;

// The comparison of a value that an operator wrote in two variants: a row of `values.csv`
// (docs/guides/values.md).
struct ValuesRow {
  std::string baseline, candidate;          // names of the experiments
  std::string key;                          // key of the baseline's operator in the analysis (KeyText)
  std::string name;                         // name of the baseline's operator
  std::string candidate_name;               // name of the candidate's operator; empty: equal to `name`
  std::string state;                        // kIdentical, kDifferent, kNotRead
  std::optional<double> sqnr_db;            // 10 log10(mean of squares of the baseline / of the differences)
  std::optional<double> largest;            // largest difference of two elements
  std::int64_t elements = 0, compared = 0;  // `compared`: elements used for `sqnr_db` and `largest`
  std::string note;                         // why the value was not read, or has no `sqnr_db`

  static constexpr const char* kIdentical = "identical";
  static constexpr const char* kDifferent = "different";
  static constexpr const char* kNotRead = "not read";

  static void Describe(auto& v) {
    using R = ValuesRow;
    v("baseline", &R::baseline, {.meaning = "the experiment that the other is compared with"});
    v("candidate", &R::candidate, {.meaning = "the other one"});
    v("key", &R::key, {.meaning = "as `node_id` of timelines, of the baseline"});
    v("name", &R::name, {.meaning = "as in traces, of the baseline"});
    v("candidate_name", &R::candidate_name, {.meaning = "of the candidate's operator; empty: the same"});
    v("state", &R::state,
      {.meaning = "whether all bytes are equal", .choices = "identical|different|not read"});
    v("sqnr_db", &R::sqnr_db,
      {.meaning =
           "the baseline's power over that of the difference; empty: nothing differs, or it is not known",
       .min = kNoMinimum});
    v("largest_difference", &R::largest, {.meaning = "of two elements; empty: as `sqnr_db`", .min = 0});
    v("elements", &R::elements, {.meaning = "of the value"});
    v("compared", &R::compared, {.meaning = "elements of which the two numbers are, evenly spread"});
    v("note", &R::note, {.meaning = "why it was not read, or has no numbers"});
  }
};

// A value that an operator of one variant wrote, with what the program says about it.
struct DescribedValue {
  protocol::OperatorValue value;
  std::string stem;  // "Convolution" for "Convolution (NHWC, F32) IGEMM #1" (OperatorStem)
  // Facts from the program; absent or empty: not known.
  std::optional<std::size_t> node;            // node of the delegate's graph whose output it is
  std::optional<std::uint32_t> debug_handle;  // handle of `node` in ExecuTorch's edge program
  std::vector<std::int64_t> shape;
  std::string dtype;           // as safetensors names it
  std::optional<float> scale;  // `scale` and `zero_point`: of quantized elements
  std::int32_t zero_point = 0;
  bool has_numbers = false;  // false: the scale of quantized elements is not known
  std::int64_t element_bytes = 0;
};
struct VariantValues {
  std::string method;
  std::vector<DescribedValue> values;                       // in the order of execution
  std::map<std::int64_t, std::vector<std::byte>> elements;  // stored bytes, by OperatorValue::index
};

// Joins the operators to the program, which has the sizes of their values and the types of their elements. A
// value that cannot be read has the reason in `problem`. Throws std::invalid_argument if the program does not
// have the method.
std::vector<DescribedValue> DescribeValues(const protocol::ValuesReply& reply, const Program& program,
                                           const std::string& method);
// Makes the sizes of the readable values in delegates, for the second request.
std::vector<protocol::ValueSize> MakeValueSizes(const std::vector<DescribedValue>& values);
// Updates the values with the second reply, which has their digests. Throws std::invalid_argument if the
// reply has other operators.
void UpdateValues(const protocol::ValuesReply& reply, std::vector<DescribedValue>& values);

// Compares the values of the operators that both variants have. The operators of a delegate call are matched
// by their order if the call has the same operators in both variants, else by the node that they compute. The
// rows are in the baseline's order. An operator that only one variant has gets no row.
std::vector<ValuesRow> CompareValues(const VariantValues& baseline, const VariantValues& candidate);

void WriteValues(const std::vector<ValuesRow>& rows, std::ostream& out);
// The description of a value in `_values.safetensors` (docs/reference/files.md).
struct SavedValue {
  std::string key, name, tensor;
  std::string note;  // the reason why there is no tensor; empty: there is a tensor
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
    v("zero_point", &S::zero_point, {.meaning = "of quantized elements", .min = kNoMinimum});
    v("debug_handle", &S::debug_handle, {.meaning = "in the edge program; null: not known"});
  }
};
// Writes the values of one variant to a file, with which `etprof accuracy` compares other values.
void SaveValues(const VariantValues& variant, const std::filesystem::path& path);
// Reads the elements that the runner wrote to a file. Throws as ReadSafetensors.
void ReadElements(const std::filesystem::path& path, VariantValues& variant);

// Reads `values.csv`; empty: no such file. Throws Error (kBadInput) with file and line.
std::vector<ValuesRow> LoadValues(const std::filesystem::path& run_directory);

}  // namespace etprof
