#include "report/diff/program_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "format/program/node_identity.h"
#include "format/program/tensors.h"
#include "format/program/xnn/delegable.h"
#include "profile/compare/operator_nodes.h"
#include "report/graph/model_graph.h"

namespace etprof {
namespace {

using Kind = ModelNode::Kind;

Bytes ConstantBytes(const XnnNode& node, const XnnGraph& graph) {
  std::set<std::size_t> constants;
  Bytes bytes = 0;
  for (const std::uint32_t id : node.inputs) {
    const XnnValue* value = graph.Find(id);
    if (value != nullptr && value->constant && constants.insert(*value->constant).second)
      bytes = CheckedSum(bytes, graph.constants[*value->constant].bytes).value_or(bytes);
  }
  return bytes;
}

ProgramNode MakeProgramNode(const ModelNode& of, const Instruction& instruction, const Method& method,
                            const Program& program) {
  ProgramNode node;
  node.chain = instruction.chain;
  node.instruction = instruction.index;
  node.graph_node = of.graph_node;
  node.work = of.work;
  node.node.module = of.layer.value_or("");
  if (of.kind == Kind::kKernel) {
    node.node.identity = IdentifyNode(instruction, method);
    node.node.tensors = GetTensors(instruction, method);
    node.node.backend = "portable";
    return node;
  }
  const Delegate& delegate = method.delegates[instruction.target];
  node.delegate = instruction.target;
  node.node.backend = delegate.backend;
  if (of.kind == Kind::kDelegate) {
    node.node.identity.kind = node.node.identity.text = "call of " + delegate.backend;
    return node;
  }
  const XnnGraph& graph = program.xnn_graphs[*delegate.graph];
  node.node.identity = IdentifyNode(graph.nodes[*of.graph_node], graph);
  node.node.tensors = GetTensors({*of.graph_node}, graph);
  node.constants = ConstantBytes(graph.nodes[*of.graph_node], graph);
  return node;
}

MatchNode MakeMatchNode(const ModelNode& of, const ProgramNode& node) {
  MatchNode match;
  match.kind = node.node.identity.kind;
  match.type = node.node.backend;
  for (const OperatorTensor& tensor : node.node.tensors.outputs) match.type += ' ' + tensor.type.name;
  FillMatchNode(node.node.tensors, node.node.identity, match);
  match.placed = of.layer.has_value();
  match.module = node.node.module;
  match.line = of.source;
  match.place = fmt::format("{} {} {}", node.chain, node.instruction, node.graph_node.value_or(0));
  match.connected = true;
  return match;
}

}  // namespace

ProgramNodes MakeProgramNodes(const Method& method, const Program& program, const MethodSources* sources) {
  const ModelGraph graph = BuildModelGraph(method, program, sources, /*by_delegate=*/false);
  ProgramNodes result;
  std::vector<std::optional<std::size_t>> index_in_result(graph.nodes.size());
  auto instruction = method.instructions.begin();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ModelNode& of = graph.nodes[i];
    if (of.kind != Kind::kKernel && of.kind != Kind::kDelegated && of.kind != Kind::kDelegate) continue;
    while (instruction->chain != *of.chain || instruction->index != *of.instruction) ++instruction;
    index_in_result[i] = result.nodes.size();
    result.nodes.push_back(MakeProgramNode(of, *instruction, method, program));
    MatchNode& match = result.match.emplace_back(MakeMatchNode(of, result.nodes.back()));
    for (const ModelNode::Edge& edge : of.edges)
      if (index_in_result[edge.node]) match.producers.push_back(*index_in_result[edge.node]);
  }
  return result;
}

const MethodSources* FindMethodSources(const SourceMap* sources, const Method& method) {
  if (sources == nullptr) return nullptr;
  const auto found = sources->methods.find(method.name);
  return found == sources->methods.end() ? nullptr : &found->second;
}

const Instruction& FindInstruction(const ProgramNode& node, const Method& method) {
  return *std::ranges::find_if(method.instructions, [&](const Instruction& instruction) {
    return instruction.chain == node.chain && instruction.index == node.instruction;
  });
}

std::string PortableReason(const ProgramNode& node, const Method& method) {
  return node.delegate ? "" : NotDelegatedReason(FindInstruction(node, method), method);
}

}  // namespace etprof
