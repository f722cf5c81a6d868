#pragma once

// {"cmd": "values"}: one run in which the runner reads what each operator wrote, right after it ran
// (runner/watch/values.h). The first request has no sizes: it tells which operators there are. The second one
// says how large their values are, which the .pte knows, and where to leave them.

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "protocol/operator_place.h"

namespace etprof::protocol {

// Of a larger value so many elements are kept, evenly spread.
inline constexpr std::int64_t kMaxStoredElements = 65'536;

struct ValueSize {
  std::int64_t index = 0;  // OperatorValue::index
  std::int64_t bytes = 0, element_bytes = 1;

  static void Describe(auto& v) {
    v("index", &ValueSize::index, {.meaning = "of the value"});
    v("bytes", &ValueSize::bytes, {.meaning = "of the value"});
    v("element_bytes", &ValueSize::element_bytes, {.meaning = "of one element", .least = 1, .most = 16});
  }
};

struct ValuesRequest {
  std::string path;  // of the safetensors file: tensors of raw elements, named by their index; empty: none
  std::vector<ValueSize> sizes;

  static void Describe(auto& v) {
    v("path", &ValuesRequest::path, {.meaning = "where to write the values"});
    v("sizes", &ValuesRequest::sizes, {.meaning = "of the values in delegates"});
  }
};

// What an operator wrote; kernels may write several values.
struct OperatorValue {
  OperatorPlace place;
  std::string name;
  std::int64_t index = 0;            // among all values of the run
  std::string problem;               // it cannot be read; empty: it can
  std::string dtype;                 // safetensors' name, of a kernel's; empty: the .pte knows
  std::int64_t bytes = 0;            // 0: it was not read
  std::string sha256;                // of all its bytes
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
  std::string problem;            // nothing can be read; empty: it was
  bool outputs_compared = false;  // equal with and without reading; false: they differ between any two runs
  std::int64_t checked = 0;  // values that were also found, byte for byte, where the program takes them from
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
