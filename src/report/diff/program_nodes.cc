#include "report/diff/program_nodes.h"

#include <fmt/format.h>

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

ProgramNode MakeProgramNode(const ModelNode& model_node, const Instruction& instruction, const Method& method,
                            const Program& program) {
  ProgramNode node;
  node.instruction = &instruction;
  node.graph_node = model_node.graph_node;
  node.work = model_node.work;
  node.node.module = model_node.layer.value_or("");
  if (model_node.kind == Kind::kKernel) {
    node.node.identity = IdentifyNode(instruction, method);
    node.node.tensors = GetTensors(instruction, method);
    node.node.backend = "portable";
    return node;
  }
  const Delegate& delegate = method.delegates[instruction.target];
  node.delegate = instruction.target;
  node.node.backend = delegate.backend;
  if (model_node.kind == Kind::kDelegate) {
    node.node.identity.kind = node.node.identity.text = "call of " + delegate.backend;
    return node;
  }
  const XnnGraph& graph = program.xnn_graphs[*delegate.graph];
  node.node.identity = IdentifyNode(graph.nodes[*model_node.graph_node], graph);
  node.node.tensors = GetTensors({*model_node.graph_node}, graph);
  node.constants = ConstantBytes(graph.nodes[*model_node.graph_node], graph);
  return node;
}

MatchNode MakeMatchNode(const ModelNode& model_node, const ProgramNode& node) {
  MatchNode match;
  match.kind = node.node.identity.kind;
  match.type = node.node.backend;
  for (const OperatorTensor& tensor : node.node.tensors.outputs) match.type += ' ' + tensor.type.name;
  FillMatchNode(node.node.tensors, node.node.identity, match);
  match.has_module = model_node.layer.has_value();
  match.module = node.node.module;
  match.line = model_node.source;
  match.position =
      fmt::format("{} {} {}", node.instruction->chain, node.instruction->index, node.graph_node.value_or(0));
  match.has_known_producers = true;
  return match;
}

}  // namespace

ProgramNodes MakeProgramNodes(const Method& method, const Program& program, const MethodSources* sources) {
  const ModelGraph graph = BuildModelGraph(method, program, sources, /*by_delegate=*/false);
  ProgramNodes result;
  std::vector<std::optional<std::size_t>> index_in_result(graph.nodes.size());
  auto instruction = method.instructions.begin();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ModelNode& model_node = graph.nodes[i];
    if (model_node.kind != Kind::kKernel && model_node.kind != Kind::kDelegated &&
        model_node.kind != Kind::kDelegate)
      continue;
    while (instruction->chain != *model_node.chain || instruction->index != *model_node.instruction)
      ++instruction;
    index_in_result[i] = result.nodes.size();
    result.nodes.push_back(MakeProgramNode(model_node, *instruction, method, program));
    MatchNode& match = result.match.emplace_back(MakeMatchNode(model_node, result.nodes.back()));
    for (const ModelNode::Edge& edge : model_node.edges)
      if (index_in_result[edge.node]) match.producers.push_back(*index_in_result[edge.node]);
  }
  return result;
}

std::string PortableReason(const ProgramNode& node, const Method& method) {
  return node.delegate ? "" : NotDelegatedReason(*node.instruction, method);
}

}  // namespace etprof
