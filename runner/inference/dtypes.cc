#include "inference/dtypes.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include "core/tensors/tensor_values.h"

namespace etprof::runner {

using executorch::aten::ScalarType;

std::string SafetensorsName(ScalarType type) {
  const std::string name = etprof::SafetensorsName(static_cast<int>(type));
  return name.empty() ? "U8" : name;
}

bool HasSafetensorsName(ScalarType type) { return !etprof::SafetensorsName(static_cast<int>(type)).empty(); }

std::string Name(ScalarType type) { return executorch::runtime::toString(type); }

nlohmann::json ScalarJson(const executorch::runtime::EValue& value) {
  if (value.isInt()) return {{"type", "int"}, {"value", value.toInt()}};
  if (value.isDouble()) return {{"type", "double"}, {"value", value.toDouble()}};
  if (value.isBool()) return {{"type", "bool"}, {"value", value.toBool()}};
  if (value.isString()) return {{"type", "string"}, {"value", std::string(value.toString())}};
  if (value.isNone()) return {{"type", "none"}};
  return {{"type", "list"}};
}

}  // namespace etprof::runner
