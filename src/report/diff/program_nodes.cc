#include "report/diff/program_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/join/source_places.h"
#include "compare/operator_nodes.h"
#include "program/dataflow.h"
#include "program/node_identity.h"
#include "program/tensors.h"
#include "program/xnn/delegable.h"

namespace etprof {
namespace {

class NodeCollector {
 public:
  NodeCollector(const Method& method, const Program& program, const MethodSources* sources)
      : method_(method), program_(program), places_(sources), flow_(DataflowOf(method, program)) {}

  ProgramNodes Run() {
    for (std::size_t i = 0; i < method_.instructions.size(); ++i) {
      const Instruction& instruction = method_.instructions[i];
      if (instruction.kind == Instruction::Kind::kKernel) {
        AddKernel(i);
      } else if (instruction.kind == Instruction::Kind::kDelegate) {
        const Delegate& delegate = method_.delegates[instruction.target];
        if (delegate.graph)
          AddGraph(i, program_.xnn_graphs[*delegate.graph]);
        else
          AddCall(i, delegate);
      }
    }
    // What places are, is known once all are found.
    for (std::size_t i = 0; i < result_.nodes.size(); ++i) SetPlace(i);
    return std::move(result_);
  }

 private:
  std::size_t Add(ProgramNode node, MatchNode match, SourcePlaces::Found found) {
    match.kind = node.node.identity.kind;
    match.type = node.node.backend;
    for (const OperatorTensor& tensor : node.node.tensors.outputs) match.type += ' ' + tensor.type.name;
    DescribeNode(node.node.tensors, node.node.identity, match);
    match.place = fmt::format("{} {} {}", node.chain, node.instruction, node.graph_node.value_or(0));
    match.connected = true;
    found_.push_back(std::move(found));
    result_.nodes.push_back(std::move(node));
    result_.match.push_back(std::move(match));
    return result_.nodes.size() - 1;
  }

  void SetPlace(std::size_t i) {
    if (!found_[i].place) return;
    const SourcePlace& place = places_.places()[*found_[i].place];
    MatchNode& match = result_.match[i];
    if (!place.modules.empty()) {
      match.placed = true;
      match.module = result_.nodes[i].node.module = place.modules.back().path;
    }
    if (place.frame) match.line = LineText(*place.frame);
  }

  static ProgramNode NodeAt(const Instruction& instruction) {
    ProgramNode node;
    node.chain = instruction.chain;
    node.instruction = instruction.index;
    return node;
  }

  void AddKernel(std::size_t index) {
    const Instruction& instruction = method_.instructions[index];
    ProgramNode node = NodeAt(instruction);
    node.node.identity = IdentityOf(instruction, method_);
    node.node.tensors = TensorsOf(instruction, method_);
    node.node.backend = "portable";
    node.work = WorkOf(instruction, method_);
    AddWhole(index, std::move(node));
  }

  void AddCall(std::size_t index, const Delegate& delegate) {
    const Instruction& instruction = method_.instructions[index];
    ProgramNode node = NodeAt(instruction);
    node.delegate = instruction.target;
    node.node.identity.kind = node.node.identity.text = "call of " + delegate.backend;
    node.node.backend = delegate.backend;
    AddWhole(index, std::move(node));
  }

  void AddWhole(std::size_t index, ProgramNode node) {
    MatchNode match;
    for (const std::size_t value : flow_.instructions[index].read) AddProducer(value, match);
    const std::size_t added =
        Add(std::move(node), std::move(match), places_.OfKernel(method_.instructions[index], method_));
    for (const std::size_t value : flow_.instructions[index].written) writer_[flow_.Holder(value)] = added;
  }

  void AddProducer(std::size_t value, MatchNode& match) const {
    if (const auto writer = writer_.find(flow_.Holder(value)); writer != writer_.end())
      match.producers.push_back(writer->second);
  }

  void AddGraph(std::size_t index, const XnnGraph& graph) {
    const Instruction& call = method_.instructions[index];
    std::map<std::uint32_t, std::size_t> writers;  // by id of a value
    for (const XnnNode& of : graph.nodes) {
      ProgramNode node = NodeAt(call);
      node.delegate = call.target;
      node.graph_node = of.index;
      node.node.identity = IdentityOf(of, graph);
      node.node.tensors = TensorsOf({of.index}, graph);
      node.node.backend = method_.delegates[call.target].backend;
      node.work = WorkOf({of.index}, graph);
      MatchNode match;
      std::set<std::size_t> constants;
      for (const std::uint32_t id : of.inputs) {
        const XnnValue* value = graph.Find(id);
        if (value == nullptr) continue;
        if (value->constant && constants.insert(*value->constant).second)
          node.constants =
              Sum(node.constants, graph.constants[*value->constant].bytes).value_or(node.constants);
        if (const auto writer = writers.find(id); writer != writers.end())
          match.producers.push_back(writer->second);
        else if (const auto argument = ArgumentOf(*value, call))
          AddProducer(*argument, match);
      }
      const std::size_t added = Add(std::move(node), std::move(match), places_.OfNode(of, graph));
      for (const std::uint32_t id : of.outputs) {
        writers[id] = added;
        const XnnValue* value = graph.Find(id);
        if (value == nullptr) continue;
        if (const auto argument = ArgumentOf(*value, call)) writer_[flow_.Holder(*argument)] = added;
      }
    }
  }

  const Method& method_;
  const Program& program_;
  SourcePlaces places_;
  MethodDataflow flow_;
  std::map<std::size_t, std::size_t> writer_;  // by value of the method: the last node that wrote it
  std::vector<SourcePlaces::Found> found_;     // as the nodes
  ProgramNodes result_;
};

}  // namespace

ProgramNodes NodesOf(const Method& method, const Program& program, const MethodSources* sources) {
  return NodeCollector(method, program, sources).Run();
}

const MethodSources* SourcesOf(const SourceMap* sources, const Method& method) {
  if (sources == nullptr) return nullptr;
  const auto found = sources->methods.find(method.name);
  return found == sources->methods.end() ? nullptr : &found->second;
}

const Instruction& InstructionOf(const ProgramNode& node, const Method& method) {
  return *std::ranges::find_if(method.instructions, [&](const Instruction& instruction) {
    return instruction.chain == node.chain && instruction.index == node.instruction;
  });
}

std::string WhyPortable(const ProgramNode& node, const Method& method) {
  return node.delegate ? "" : WhyNotDelegated(InstructionOf(node, method), method);
}

}  // namespace etprof
