#include "format/program/dataflow.h"

#include <set>

namespace etprof {
namespace {

// Appends the tensor of an argument, or all tensors of an argument that is a list.
void AddTensors(std::size_t argument, const Method& method, std::set<std::size_t>& seen,
                std::vector<std::size_t>& tensors) {
  const auto add = [&](std::size_t index) {
    if (method.values[index].tensor && seen.insert(index).second) tensors.push_back(index);
  };
  add(argument);
  for (const std::size_t item : method.values[argument].items) add(item);
}

using Values = std::set<std::size_t>;

ReadWriteSet<std::size_t> InstructionDataflow(const Instruction& instruction, const Method& method,
                                              const Program& program) {
  if (instruction.kind == Instruction::Kind::kKernel) return FindDataflow(instruction, method);
  ReadWriteSet<std::size_t> flow;
  if (instruction.kind == Instruction::Kind::kMove && instruction.arguments.size() == 2)
    return {{instruction.arguments[0]}, {instruction.arguments[1]}};
  if (instruction.kind != Instruction::Kind::kDelegate || !method.delegates[instruction.target].graph)
    return flow;
  const XnnGraph& graph = program.xnn_graphs[*method.delegates[instruction.target].graph];
  const auto add = [&](const std::vector<std::uint32_t>& ids, std::vector<std::size_t>& values) {
    for (const std::uint32_t id : ids) {
      if (const auto value = FindArgument(*graph.Find(id), instruction)) values.push_back(*value);
    }
  };
  add(graph.inputs, flow.read);
  add(graph.outputs, flow.written);
  return flow;
}

// A tensor's location in the planned memory.
struct Place {
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;
  Bytes bytes = 0;
  auto operator<=>(const Place&) const = default;
};

std::optional<Place> MemoryPlace(const ProgramValue& value) {
  if (!value.tensor || !value.tensor->memory_id || !value.tensor->memory_offset) return std::nullopt;
  const std::optional<Bytes> bytes = SizeInBytes(value.tensor->type, value.tensor->shape);
  if (!bytes) return std::nullopt;
  return Place{*value.tensor->memory_id, *value.tensor->memory_offset, *bytes};
}

// Finds views. `defined` contains the values that instructions write, inputs, and constants, which are not
// views.
void FindViews(const Method& method, const Values& defined, MethodDataflow& flow) {
  std::map<Place, std::size_t> holders;
  const auto set_holders = [&](const std::vector<std::size_t>& values) {
    for (const std::size_t value : values) {
      if (const auto place = MemoryPlace(method.values[value])) holders[*place] = value;
    }
  };
  const auto add_views = [&](const std::vector<std::size_t>& values) {
    for (const std::size_t value : values) {
      const auto place = MemoryPlace(method.values[value]);
      const auto holder = place && !defined.contains(value) ? holders.find(*place) : holders.end();
      if (holder != holders.end()) flow.views.try_emplace(value, holder->second);
    }
  };
  set_holders(method.inputs);
  for (const ReadWriteSet<std::size_t>& instruction : flow.instructions) {
    add_views(instruction.read);
    set_holders(instruction.written);
  }
  add_views(method.outputs);
}

}  // namespace

ReadWriteSet<std::uint32_t> FindDataflow(const std::vector<std::size_t>& nodes, const XnnGraph& graph) {
  ReadWriteSet<std::uint32_t> flow;
  std::set<std::uint32_t> produced, seen;
  std::map<std::uint32_t, std::uint32_t> uses_in_group;
  for (const std::size_t index : nodes) {
    produced.insert(graph.nodes[index].outputs.begin(), graph.nodes[index].outputs.end());
    for (const std::uint32_t id : graph.nodes[index].inputs) ++uses_in_group[id];
  }
  for (const std::size_t index : nodes) {
    for (const std::uint32_t id : graph.nodes[index].inputs) {
      // An absent optional bias has an id without a value.
      if (!produced.contains(id) && graph.Find(id) != nullptr && seen.insert(id).second)
        flow.read.push_back(id);
    }
    for (const std::uint32_t id : graph.nodes[index].outputs) {
      const auto uses = graph.uses.find(id);
      const bool is_used_elsewhere = uses != graph.uses.end() && uses->second > uses_in_group[id];
      if (is_used_elsewhere && graph.Find(id) != nullptr && seen.insert(id).second)
        flow.written.push_back(id);
    }
  }
  return flow;
}

ReadWriteSet<std::size_t> FindDataflow(const Instruction& kernel, const Method& method) {
  ReadWriteSet<std::size_t> flow;
  if (kernel.kind != Instruction::Kind::kKernel || kernel.arguments.empty()) return flow;
  std::set<std::size_t> seen;
  AddTensors(kernel.arguments.back(), method, seen, flow.written);
  for (const std::size_t argument : kernel.arguments) AddTensors(argument, method, seen, flow.read);
  return flow;
}

std::size_t MethodDataflow::BackingValue(std::size_t value) const {
  const auto found = views.find(value);
  return found == views.end() ? value : found->second;
}

MethodDataflow FindDataflow(const Method& method, const Program& program) {
  MethodDataflow flow;
  Values defined = {method.inputs.begin(), method.inputs.end()};
  for (std::size_t value = 0; value < method.values.size(); ++value) {
    const auto& tensor = method.values[value].tensor;
    if (tensor && tensor->data != ProgramTensor::Data::kNone) defined.insert(value);
  }
  for (const Instruction& instruction : method.instructions) {
    flow.instructions.push_back(InstructionDataflow(instruction, method, program));
    const auto& written = flow.instructions.back().written;
    defined.insert(written.begin(), written.end());
  }
  for (std::size_t i = 0; i < method.instructions.size(); ++i) {
    const Instruction& instruction = method.instructions[i];
    if (instruction.kind != Instruction::Kind::kDelegate || method.delegates[instruction.target].graph)
      continue;
    for (const std::size_t value : Values(instruction.arguments.begin(), instruction.arguments.end()))
      (defined.insert(value).second ? flow.instructions[i].written : flow.instructions[i].read)
          .push_back(value);
  }
  FindViews(method, defined, flow);
  return flow;
}

std::optional<std::size_t> FindArgument(const XnnValue& value, const Instruction& call) {
  if (!value.external_id || *value.external_id >= call.arguments.size()) return std::nullopt;
  return call.arguments[*value.external_id];
}

}  // namespace etprof
