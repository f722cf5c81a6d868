#include "program/dataflow.h"

#include <map>
#include <set>

namespace etprof {
namespace {

// The tensors that an argument stands for.
void AddTensors(std::size_t argument, const Method& method, std::set<std::size_t>& seen,
                std::vector<std::size_t>& tensors) {
  const auto add = [&](std::size_t index) {
    if (method.values[index].tensor && seen.insert(index).second) tensors.push_back(index);
  };
  add(argument);
  for (const std::size_t item : method.values[argument].items) add(item);
}

}  // namespace

ReadAndWritten<std::uint32_t> DataflowOf(const std::vector<std::size_t>& nodes, const XnnGraph& graph) {
  ReadAndWritten<std::uint32_t> flow;
  std::set<std::uint32_t> produced, seen;
  std::map<std::uint32_t, std::uint32_t> used_here;
  for (const std::size_t index : nodes) {
    produced.insert(graph.nodes[index].outputs.begin(), graph.nodes[index].outputs.end());
    for (const std::uint32_t id : graph.nodes[index].inputs) ++used_here[id];
  }
  for (const std::size_t index : nodes) {
    for (const std::uint32_t id : graph.nodes[index].inputs) {
      // An optional bias that is not there has an id that no value has.
      if (!produced.contains(id) && graph.Find(id) != nullptr && seen.insert(id).second)
        flow.read.push_back(id);
    }
    for (const std::uint32_t id : graph.nodes[index].outputs) {
      const auto uses = graph.uses.find(id);
      const bool elsewhere = uses != graph.uses.end() && uses->second > used_here[id];
      if (elsewhere && graph.Find(id) != nullptr && seen.insert(id).second) flow.written.push_back(id);
    }
  }
  return flow;
}

ReadAndWritten<std::size_t> DataflowOf(const Instruction& kernel, const Method& method) {
  ReadAndWritten<std::size_t> flow;
  if (kernel.kind != Instruction::Kind::kKernel || kernel.arguments.empty()) return flow;
  std::set<std::size_t> seen;
  AddTensors(kernel.arguments.back(), method, seen, flow.written);
  for (const std::size_t argument : kernel.arguments) AddTensors(argument, method, seen, flow.read);
  return flow;
}

std::optional<std::size_t> ArgumentOf(const XnnValue& value, const Instruction& call) {
  if (!value.external_id || *value.external_id >= call.arguments.size()) return std::nullopt;
  return call.arguments[*value.external_id];
}

}  // namespace etprof
