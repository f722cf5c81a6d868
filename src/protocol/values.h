#pragma once

// {"cmd": "values"}: one run in which the runner reads the values that each operator writes, right after the
// operator ran (runner/watch/values.cc). The first request has no sizes, and its reply lists the operators.
// The second request has the sizes of their values, which etprof reads from the .pte, and the output file.

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "protocol/operator_place.h"

namespace etprof::protocol {

// The maximum number of elements that are stored of one value. Of a larger value, an evenly spread sample of
// this size is stored.
inline constexpr std::int64_t kMaxStoredElements = 65'536;

struct ValueSize {
  std::int64_t index = 0;  // OperatorValue::index
  std::int64_t bytes = 0, element_bytes = 1;

  static void Describe(auto& v) {
    v("index", &ValueSize::index, {.meaning = "of the value"});
    v("bytes", &ValueSize::bytes, {.meaning = "of the value"});
    v("element_bytes", &ValueSize::element_bytes, {.meaning = "of one element", .min = 1, .max = 16});
  }
};

struct ValuesRequest {
  std::string path;  // path of the safetensors file: raw elements, named by their index; empty: none
  std::vector<ValueSize> sizes;

  static void Describe(auto& v) {
    v("path", &ValuesRequest::path, {.meaning = "where to write the values"});
    v("sizes", &ValuesRequest::sizes, {.meaning = "of the values in delegates"});
  }
};

// A value that an operator wrote. Kernels may write several values.
struct OperatorValue {
  OperatorPlace place;
  std::string name;
  std::int64_t index = 0;  // index among all values of the run
  std::string problem;     // why the value cannot be read; empty: it can be read
  std::string dtype;       // type of a kernel's output, as safetensors names it; empty: the .pte has it
  std::int64_t bytes = 0;  // 0: the value was not read
  std::string sha256;      // hash of all bytes of the value
  std::int64_t stored_elements = 0;  // elements in the file

  static void Describe(auto& v) {
    using O = OperatorValue;
    v.Flat(&O::place);
    v("name", &O::name, {.meaning = "as in traces"});
    v("index", &O::index, {.meaning = "among all values of the run"});
    v("why_not", &O::problem, {.meaning = "it cannot be read; empty: it can"});
    v("dtype", &O::dtype,
      {.meaning = "of a kernel's output, as safetensors names it; empty: the .pte knows"});
    v("bytes", &O::bytes, {.meaning = "0: it was not read"});
    v("sha256", &O::sha256, {.meaning = "of all bytes"});
    v("kept", &O::stored_elements, {.meaning = "elements in the file"});
  }
};

struct ValuesReply {
  std::string problem;  // why no value can be read; empty: values were read
  // Runs with and without reading gave the same outputs. False: the outputs of any two runs differ.
  bool outputs_compared = false;
  std::int64_t checked = 0;  // values that were also found, byte for byte, in the outputs of their delegate
  std::vector<OperatorValue> values;  // in the order of execution

  static constexpr bool kRequiresAllKeys = true;
  static void Describe(auto& v) {
    using R = ValuesReply;
    v("why_not", &R::problem, {.meaning = "values cannot be read; empty: they were"});
    v("outputs_compared", &R::outputs_compared,
      {.meaning = "runs with and without reading gave the same outputs; false: any two runs differ"});
    v("checked", &R::checked,
      {.meaning = "values that are the outputs of a delegate, and were found there byte for byte"});
    v("values", &R::values, {.meaning = "in the order of execution"});
  }
};

}  // namespace etprof::protocol
