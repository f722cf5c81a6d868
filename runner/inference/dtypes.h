#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <nlohmann/json.hpp>
#include <string>

namespace etprof::runner {

// The safetensors name of an ExecuTorch element type ("F32" for Float); "U8" for the few types without one,
// whose tensors are written as bytes.
std::string SafetensorsName(executorch::aten::ScalarType type);
bool HasSafetensorsName(executorch::aten::ScalarType type);

// ExecuTorch's own name of the type: "Float", "Half", "Long".
std::string Name(executorch::aten::ScalarType type);

// A value that is not a tensor, as {"type", "value"}; "none" and "list" have no value.
nlohmann::json ScalarJson(const executorch::runtime::EValue& value);

}  // namespace etprof::runner
