#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/tensors/tensor_values.h"

namespace etprof::runner {

// The safetensors name of an ExecuTorch element type ("F32" for Float); "U8" for the few types without one,
// whose tensors are written as bytes.
inline std::string SafetensorsName(executorch::aten::ScalarType type) {
  const std::string name = etprof::SafetensorsName(static_cast<int>(type));
  return name.empty() ? "U8" : name;
}
inline bool HasSafetensorsName(executorch::aten::ScalarType type) {
  return !etprof::SafetensorsName(static_cast<int>(type)).empty();
}

// ExecuTorch's own name of the type: "Float", "Half", "Long".
inline std::string Name(executorch::aten::ScalarType type) { return executorch::runtime::toString(type); }

// A value that is not a tensor, as {"type", "value"}; "none" and "list" have no value.
inline nlohmann::json ScalarJson(const executorch::runtime::EValue& value) {
  if (value.isInt()) return {{"type", "int"}, {"value", value.toInt()}};
  if (value.isDouble()) return {{"type", "double"}, {"value", value.toDouble()}};
  if (value.isBool()) return {{"type", "bool"}, {"value", value.toBool()}};
  if (value.isString()) return {{"type", "string"}, {"value", std::string(value.toString())}};
  if (value.isNone()) return {{"type", "none"}};
  return {{"type", "list"}};
}

}  // namespace etprof::runner
