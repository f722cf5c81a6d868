#include "report/graph/model_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"
#include "format/program/dataflow.h"
#include "profile/analysis/join/source_places.h"

namespace etprof {
namespace {

using Kind = ModelNode::Kind;

constexpr std::size_t kMaxNodes = 1'000'000;  // more than any viewer can draw

// A node output that wrote a value.
struct Writer {
  std::size_t node = 0, output = 0;
};

class GraphBuilder {
 public:
  GraphBuilder(const Method& method, const Program& program, const MethodSources* sources, bool by_delegate)
      : method_(method), program_(program), places_(sources), flow_(FindDataflow(method, program)) {
    graph_.method = method.name;
    if (sources != nullptr && !by_delegate) graph_.grouping = ModelGraph::Grouping::kLayer;
  }

  ModelGraph Build() {
    RequireDrawable();
    for (std::size_t i = 0; i < method_.inputs.size(); ++i) {
      const std::size_t node = AddNode(Kind::kInput, fmt::format("input/{}", i), fmt::format("input {}", i));
      graph_.nodes[node].outputs = MakeTensors({method_.inputs[i]});
      if (const auto& tensor = method_.values[method_.inputs[i]].tensor)
        graph_.nodes[node].shapes = tensor->dynamism;
      SetWriter(method_.inputs[i], {node, 0});
    }
    for (std::size_t i = 0; i < method_.instructions.size(); ++i) AddInstruction(i);
    for (std::size_t i = 0; i < method_.outputs.size(); ++i) {
      const std::size_t node =
          AddNode(Kind::kOutput, fmt::format("output/{}", i), fmt::format("output {}", i));
      AddEdges(node, method_.outputs[i], 0);
    }
    return std::move(graph_);
  }

 private:
  // Counts the nodes before they are made, since a small file may call a delegate many times.
  void RequireDrawable() const {
    std::size_t nodes = method_.inputs.size() + method_.outputs.size();
    for (const Instruction& instruction : method_.instructions) {
      const bool is_call = instruction.kind == Instruction::Kind::kDelegate;
      const auto graph = is_call ? method_.delegates[instruction.target].graph : std::nullopt;
      nodes += graph ? program_.xnn_graphs[*graph].nodes.size() : 1;
      if (nodes <= kMaxNodes) continue;
      throw Error(ExitCode::kBadInput,
                  fmt::format("the graph of method {} has more than {} nodes", method_.name, kMaxNodes));
    }
  }

  std::size_t AddNode(Kind kind, const std::string& id, const std::string& label) {
    ModelNode& node = graph_.nodes.emplace_back();
    node.kind = kind;
    node.id = fmt::format("{}/{}", method_.name, id);
    node.label = label;
    return graph_.nodes.size() - 1;
  }

  std::vector<OperatorTensor> MakeTensors(const std::vector<std::size_t>& values) const {
    std::vector<OperatorTensor> tensors;
    for (const std::size_t value : values) {
      const auto& tensor = method_.values[value].tensor;
      if (tensor) tensors.push_back({.type = tensor->type, .shape = tensor->shape, .constant = false});
    }
    return tensors;
  }

  bool IsConstant(std::size_t value) const {
    const auto& tensor = method_.values[value].tensor;
    return tensor && tensor->data != ProgramTensor::Data::kNone;
  }

  void SetWriter(std::size_t value, Writer writer) { writers_[value] = {writer}; }

  // If branches meet, several nodes may have written the value.
  void AddEdges(std::size_t node, std::size_t value, std::size_t input) {
    const auto writers = writers_.find(flow_.BackingValue(value));
    if (writers == writers_.end()) return;
    for (const Writer& writer : writers->second)
      graph_.nodes[node].edges.push_back({writer.node, writer.output, input});
  }

  void AddInstruction(std::size_t index) {
    const Instruction& instruction = method_.instructions[index];
    const std::string chain = instruction.chain == 0 ? "" : fmt::format("chain {}/", instruction.chain);
    const std::string place = fmt::format("{}{}", chain, instruction.index);
    switch (instruction.kind) {
      case Instruction::Kind::kKernel:
        AddKernel(index, place + "/kernel");
        break;
      case Instruction::Kind::kDelegate:
        if (const auto graph = method_.delegates[instruction.target].graph) {
          AddCall(instruction, program_.xnn_graphs[*graph], place + "/node/");
        } else {
          AddInstructionNode(index, Kind::kDelegate, place + "/delegate",
                             method_.delegates[instruction.target].backend);
        }
        break;
      case Instruction::Kind::kMove:
        AddMove(index, place + "/move");
        break;
      default:
        break;  // jumps and frees have no data
    }
  }

  void SetInstruction(ModelNode& node, const Instruction& instruction) const {
    node.chain = instruction.chain;
    node.instruction = instruction.index;
    node.shapes = ShapeDynamism(instruction, method_);
    if (instruction.kind == Instruction::Kind::kDelegate) {
      node.delegate = fmt::format("{} at instruction {}", method_.delegates[instruction.target].backend,
                                  instruction.index);
    }
  }

  // Adds a node for a whole instruction with its inputs and outputs.
  std::size_t AddInstructionNode(std::size_t index, Kind kind, const std::string& id,
                                 const std::string& label) {
    const Instruction& instruction = method_.instructions[index];
    const ReadWriteSet<std::size_t>& flow = flow_.instructions[index];
    const std::size_t node = AddNode(kind, id, label);
    ModelNode& new_node = graph_.nodes[node];
    SetInstruction(new_node, instruction);
    std::size_t input = 0;
    for (const std::size_t value : flow.read) {
      if (IsConstant(value)) {
        new_node.constants.push_back(MakeTensors({value}).front());
      } else {
        AddEdges(node, value, input++);
      }
    }
    new_node.outputs = MakeTensors(flow.written);
    if (kind == Kind::kMove) return node;
    for (std::size_t i = 0; i < flow.written.size(); ++i) SetWriter(flow.written[i], {node, i});
    SetSourcePlace(new_node, places_.FindKernelPlace(instruction, method_));
    return node;
  }

  void AddKernel(std::size_t index, const std::string& id) {
    const Instruction& instruction = method_.instructions[index];
    const std::size_t node =
        AddInstructionNode(index, Kind::kKernel, id, method_.operators[instruction.target]);
    ModelNode& new_node = graph_.nodes[node];
    new_node.work = ComputeWork(instruction, method_);
    new_node.kleidiai = FindKleidiaiUsage(instruction, method_);
  }

  // Each branch of a condition moves its result to the same value.
  void AddMove(std::size_t index, const std::string& id) {
    const ReadWriteSet<std::size_t>& flow = flow_.instructions[index];
    if (flow.written.empty()) return;
    const std::size_t node = AddInstructionNode(index, Kind::kMove, id, "move");
    std::vector<Writer>& writers = writers_[flow.written.front()];
    std::erase_if(writers, [&](const Writer& other) { return graph_.nodes[other.node].kind != Kind::kMove; });
    writers.push_back({node, 0});
  }

  void AddCall(const Instruction& call, const XnnGraph& graph, const std::string& id) {
    std::map<std::uint32_t, Writer> written;  // keyed by value id
    std::map<std::uint32_t, std::size_t> argument_values;
    for (const std::uint32_t input : graph.inputs) {
      if (const auto value = FindArgument(*graph.Find(input), call)) argument_values[input] = *value;
    }
    for (const XnnNode& xnn_node : graph.nodes) {
      const std::string label = xnn_node.type.starts_with("XNN") ? xnn_node.type.substr(3) : xnn_node.type;
      const std::size_t node = AddNode(Kind::kDelegated, id + std::to_string(xnn_node.index), label);
      ModelNode& new_node = graph_.nodes[node];
      SetInstruction(new_node, call);
      new_node.graph_node = xnn_node.index;
      std::size_t input = 0;
      for (const std::uint32_t value_id : FindDataflow({xnn_node.index}, graph).read) {
        const XnnValue& value = *graph.Find(value_id);
        if (value.constant) {
          new_node.constants.push_back({.type = value.type, .shape = value.shape, .constant = true});
          continue;
        }
        const auto writer = written.find(value_id);
        const auto argument = argument_values.find(value_id);
        if (writer != written.end()) {
          new_node.edges.push_back({writer->second.node, writer->second.output, input});
        } else if (argument != argument_values.end()) {
          AddEdges(node, argument->second, input);
        }
        ++input;
      }
      for (const std::uint32_t value_id : xnn_node.outputs) {
        const XnnValue* value = graph.Find(value_id);
        if (value == nullptr) continue;
        written[value_id] = {node, new_node.outputs.size()};
        new_node.outputs.push_back({.type = value->type, .shape = value->shape, .constant = false});
      }
      new_node.work = ComputeWork(std::vector<std::size_t>{xnn_node.index}, graph);
      new_node.kleidiai = FindKleidiaiUsage(xnn_node, graph);
      SetSourcePlace(new_node, places_.FindNodePlace(xnn_node, graph));
    }
    for (const std::uint32_t output : graph.outputs) {
      const auto writer = written.find(output);
      const auto value = FindArgument(*graph.Find(output), call);
      if (value && writer != written.end()) SetWriter(*value, writer->second);
    }
  }

  void SetSourcePlace(ModelNode& node, const SourcePlaces::PlaceMatch& match) {
    node.is_partitioner_conversion = match.is_partitioner_conversion;
    if (match.place) {
      const SourcePlace& place = places_.places()[*match.place];
      if (!place.modules.empty()) {
        node.layer = place.modules.back().path;
        node.layer_type = place.modules.back().type;
        for (const SourceModule& module : place.modules) graph_.types[module.path] = module.type;
      }
      if (place.frame) node.source = FormatLocation(*place.frame);
    }
    SetGroup(node);
  }

  void SetGroup(ModelNode& node) const {
    node.group.clear();
    if (graph_.grouping == ModelGraph::Grouping::kLayer) {
      if (!node.layer || node.layer->empty()) return;
      for (const std::string_view part : SplitAt(*node.layer, '.')) node.group.emplace_back(part);
    } else if (!node.delegate.empty()) {
      node.group = {node.delegate};
    }
  }

  const Method& method_;
  const Program& program_;
  SourcePlaces places_;
  MethodDataflow flow_;
  ModelGraph graph_;
  std::map<std::size_t, std::vector<Writer>> writers_;  // keyed by value of the method
};

}  // namespace

ModelGraph BuildModelGraph(const Method& method, const Program& program, const MethodSources* sources,
                           bool by_delegate) {
  return GraphBuilder(method, program, sources, by_delegate).Build();
}

}  // namespace etprof
