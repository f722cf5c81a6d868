#pragma once

// Builds programs for tests.

#include <string>
#include <vector>

#include "format/program/program.h"

namespace etprof::handmade {

// A method with one call of a kernel that has float32 tensors of these shapes as arguments.
inline Method MakeCallingMethod(const std::string& name,
                                const std::vector<std::vector<std::int64_t>>& shapes) {
  Method method;
  method.operators = {name};
  Instruction& call = method.instructions.emplace_back();
  call.kind = Instruction::Kind::kKernel;
  for (const std::vector<std::int64_t>& shape : shapes) {
    call.arguments.push_back(method.values.size());
    ProgramValue& value = method.values.emplace_back();
    value.kind = ProgramValue::Kind::kTensor;
    value.tensor.emplace();
    value.tensor->type = {"float32", 32};
    value.tensor->shape = shape;
  }
  return method;
}

}  // namespace etprof::handmade
