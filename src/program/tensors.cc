#include "program/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace etprof {
namespace {

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace

OperatorTensors TensorsOf(const std::vector<std::size_t>& nodes, const XnnGraph& graph) {
  OperatorTensors tensors;
  std::set<std::uint32_t> produced, read;
  std::map<std::uint32_t, std::uint32_t> used_here;
  for (const std::size_t index : nodes) {
    produced.insert(graph.nodes[index].outputs.begin(), graph.nodes[index].outputs.end());
    for (const std::uint32_t id : graph.nodes[index].inputs) ++used_here[id];
  }
  const auto tensor_of = [](const XnnValue& value) {
    return OperatorTensor{value.type, value.shape, value.constant.has_value()};
  };
  for (const std::size_t index : nodes) {
    for (const std::uint32_t id : graph.nodes[index].inputs) {
      const XnnValue* value = graph.Find(id);  // null: an optional bias that is not there
      if (value != nullptr && !produced.contains(id) && read.insert(id).second)
        tensors.inputs.push_back(tensor_of(*value));
    }
    for (const std::uint32_t id : graph.nodes[index].outputs) {
      const XnnValue* value = graph.Find(id);
      const auto uses = graph.uses.find(id);
      const bool elsewhere = uses != graph.uses.end() && uses->second > used_here[id];
      if (value != nullptr && elsewhere) tensors.outputs.push_back(tensor_of(*value));
    }
  }
  return tensors;
}

OperatorTensors TensorsOf(const Instruction& kernel, const Method& method) {
  OperatorTensors tensors;
  if (kernel.kind != Instruction::Kind::kKernel || kernel.arguments.empty()) return tensors;
  using Kind = ProgramValue::Kind;
  std::set<std::size_t> seen{kernel.arguments.back()};
  for (const std::size_t argument : kernel.arguments) {
    const ProgramValue& value = method.values[argument];
    if (value.kind == Kind::kTensorList || value.kind == Kind::kOptionalTensorList) return {};
    if (!value.tensor) continue;
    const OperatorTensor tensor{value.tensor->type, value.tensor->shape,
                                value.tensor->data != ProgramTensor::Data::kNone};
    if (argument == kernel.arguments.back()) {
      tensors.outputs = {tensor};
    } else if (seen.insert(argument).second) {
      tensors.inputs.push_back(tensor);
    }
  }
  return tensors;
}

std::string TensorsText(const OperatorTensors& tensors) {
  std::set<std::string> types;
  for (const auto* side : {&tensors.inputs, &tensors.outputs}) {
    for (const OperatorTensor& tensor : *side) {
      if (!tensor.constant) types.insert(tensor.type.name);
    }
  }
  const bool one_type = types.size() == 1;
  const auto side_text = [&](const std::vector<OperatorTensor>& side) {
    std::vector<std::string> texts;
    for (const OperatorTensor& tensor : side) {
      const bool told = one_type && (tensor.constant || tensor.type.name == *types.begin());
      texts.push_back(told ? ShapeText(tensor.shape) : ShapeText(tensor.shape) + " " + tensor.type.name);
    }
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  if (tensors.inputs.empty() && tensors.outputs.empty()) return "";
  const std::string inputs = side_text(tensors.inputs), outputs = side_text(tensors.outputs);
  return inputs + (inputs.empty() ? "-> " : " -> ") + outputs + (one_type ? " " + *types.begin() : "");
}

}  // namespace etprof
