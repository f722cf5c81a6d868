#include "format/program/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/views.h"
#include "format/program/dataflow.h"

namespace etprof {
namespace {

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace

OperatorTensors GetTensors(const std::vector<std::size_t>& nodes, const XnnGraph& graph) {
  const auto make_tensor = [&](std::uint32_t id) {
    const XnnValue& value = *graph.Find(id);
    return OperatorTensor{value.type, value.shape, value.constant.has_value()};
  };
  const ReadWriteSet<std::uint32_t> flow = FindDataflow(nodes, graph);
  return {MapEach(flow.read, make_tensor), MapEach(flow.written, make_tensor)};
}

OperatorTensors GetTensors(const Instruction& kernel, const Method& method) {
  const auto make_tensor = [&](std::size_t index) {
    const ProgramTensor& tensor = *method.values[index].tensor;
    return OperatorTensor{tensor.type, tensor.shape, tensor.data != ProgramTensor::Data::kNone};
  };
  const ReadWriteSet<std::size_t> flow = FindDataflow(kernel, method);
  return {MapEach(flow.read, make_tensor), MapEach(flow.written, make_tensor)};
}

const OperatorTensor* FindWeights(const OperatorTensors& tensors) {
  const auto elements = [](const OperatorTensor& tensor) { return ElementCount(tensor.shape).value_or(0); };
  const OperatorTensor* weights = nullptr;
  for (const OperatorTensor& tensor : tensors.inputs) {
    if (tensor.constant && (weights == nullptr || elements(tensor) > elements(*weights))) weights = &tensor;
  }
  return weights;
}

std::string FormatTensors(const OperatorTensors& tensors) {
  std::set<std::string> types;
  for (const auto* list : {&tensors.inputs, &tensors.outputs}) {
    for (const OperatorTensor& tensor : *list) {
      if (!tensor.constant) types.insert(tensor.type.name);
    }
  }
  const bool one_type = types.size() == 1;
  const auto format_list = [&](const std::vector<OperatorTensor>& list) {
    const auto texts = MapEach(list, [&](const OperatorTensor& tensor) {
      const bool is_implied = one_type && (tensor.constant || tensor.type.name == *types.begin());
      return ShapeText(tensor.shape) + (is_implied ? "" : " " + tensor.type.name);
    });
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  if (tensors.inputs.empty() && tensors.outputs.empty()) return "";
  const std::string inputs = format_list(tensors.inputs), outputs = format_list(tensors.outputs);
  return inputs + (inputs.empty() ? "-> " : " -> ") + outputs + (one_type ? " " + *types.begin() : "") +
         DynamismSuffix(tensors.shapes);
}

ProgramTensor::Shape ShapeDynamism(const Instruction& instruction, const Method& method) {
  auto least_certain = ProgramTensor::Shape::kStatic;
  const auto add = [&](std::size_t value) {
    const auto& tensor = method.values[value].tensor;
    if (tensor) least_certain = std::max(least_certain, tensor->dynamism);
  };
  for (const std::size_t argument : instruction.arguments) {
    add(argument);
    std::ranges::for_each(method.values[argument].items, add);
  }
  return least_certain;
}

const char* DynamismSuffix(ProgramTensor::Shape shape) {
  static constexpr const char* kSuffixes[] = {"", " at most", " unbounded"};
  return kSuffixes[static_cast<std::size_t>(shape)];
}

}  // namespace etprof
