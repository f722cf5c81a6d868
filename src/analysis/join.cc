#include "analysis/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/align_nodes.h"
#include "analysis/neighbours.h"
#include "analysis/operators.h"

namespace etprof {
namespace {

using Join = OperatorSource::Join;

// "aten::add.out" is called native_call_add.out.
bool IsCalled(const std::string& type, const std::string& in_program) {
  const std::size_t scope = in_program.rfind("::");
  return type == (scope == std::string::npos ? in_program : in_program.substr(scope + 2));
}

class Joiner {
 public:
  Joiner(const Profile& profile, const Program& program, const Method& method, const MethodSources* sources)
      : profile_(profile), program_(program), method_(method), sources_(sources) {
    for (const Instruction& instruction : method.instructions)
      instructions_[{instruction.chain, instruction.index}] = &instruction;
  }

  ProgramJoin Run() {
    result_.operators.resize(profile_.operators.size());
    if (sources_ == nullptr) result_.no_sources = "where operators come from in the model is not known";
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::size_t>>
        calls;  // operators of one occurrence
    for (std::size_t i = 0; i < profile_.operators.size(); ++i) {
      const Operator& op = profile_.operators[i];
      OperatorSource& own = result_.operators[i];
      if (op.key.kind == SpanKind::kKernel) {
        JoinKernel(op, own);
      } else if (op.key.kind == SpanKind::kBackend) {
        calls[{op.call_index, op.key.occurrence}].push_back(i);
      } else {
        own.join = Join::kFramework;
      }
      if (!result_.problem.empty()) return Refused();
    }
    for (auto& [call, operators] : calls) {
      std::stable_sort(operators.begin(), operators.end(), [&](std::size_t a, std::size_t b) {
        return profile_.operators[a].key.ordinal < profile_.operators[b].key.ordinal;
      });
      JoinCall(operators);
      if (!result_.problem.empty()) return Refused();
    }
    ConnectNeighbours(profile_, method_, aligned_calls_, result_.operators);
    return std::move(result_);
  }

 private:
  ProgramJoin Refused() {
    ProgramJoin refused;
    refused.operators.resize(profile_.operators.size());
    refused.problem = std::move(result_.problem);
    for (OperatorSource& source : refused.operators) source.why = refused.problem;
    return refused;
  }

  const Instruction* Find(const Operator& op) const {
    const auto found = instructions_.find({op.key.chain, op.key.instruction});
    return found == instructions_.end() ? nullptr : found->second;
  }

  void JoinKernel(const Operator& op, OperatorSource& own) {
    const Instruction* instruction = Find(op);
    if (instruction == nullptr || instruction->kind != Instruction::Kind::kKernel ||
        !IsCalled(op.type, method_.operators[instruction->target])) {
      result_.problem =
          fmt::format("{} ran as instruction {}, which the program has not: it is not the one that ran",
                      op.name, op.key.instruction);
      return;
    }
    own.join = Join::kKernel;
    own.tensors = TensorsOf(*instruction, method_);
    own.work = WorkOf(*instruction, method_);
    own.kleidiai = KleidiaiOf(*instruction, method_);
    if (sources_ == nullptr || op.key.chain != 0) return;
    const auto handles = sources_->instructions.find(op.key.instruction);
    if (handles == sources_->instructions.end()) return;
    own.debug_handles = handles->second;
    own.place = PlaceOf(own.debug_handles);
    if (own.place) return;
    own.between = true;
    own.place = PlaceOfNeighbour(*instruction);
  }

  // Of the next instruction that takes what `instruction` gives, or of the last one that gave what it takes.
  std::optional<std::size_t> PlaceOfNeighbour(const Instruction& instruction) {
    if (instruction.arguments.empty()) return std::nullopt;
    const std::size_t output = instruction.arguments.back();
    std::optional<std::size_t> before;
    for (const Instruction& other : method_.instructions) {
      const auto handles = sources_->instructions.find(other.index);
      if (other.chain != 0 || other.index == instruction.index || handles == sources_->instructions.end())
        continue;
      const std::vector<std::size_t>& values = other.arguments;
      if (other.index > instruction.index) {
        if (std::find(values.begin(), values.end(), output) == values.end()) continue;
        if (const auto place = PlaceOf(handles->second)) return place;
      } else if (!values.empty() && std::find(instruction.arguments.begin(), instruction.arguments.end(),
                                              values.back()) != instruction.arguments.end()) {
        if (const auto place = PlaceOf(handles->second)) before = place;
      }
    }
    return before;
  }

  void JoinCall(const std::vector<std::size_t>& operators) {
    const Operator& first = profile_.operators[operators.front()];
    const Instruction* instruction = Find(first);
    if (instruction == nullptr || instruction->kind != Instruction::Kind::kDelegate) {
      result_.problem = fmt::format(
          "instruction {} ran in a delegate, and is none in the program: it is not the one that ran",
          first.key.instruction);
      return;
    }
    const Delegate& delegate = method_.delegates[instruction->target];
    const auto none = [&](const std::string& why) {
      for (const std::size_t op : operators) result_.operators[op].why = why;
    };
    if (!delegate.graph) return none(fmt::format("the payload of {} is not read", delegate.backend));
    const XnnGraph& graph = program_.xnn_graphs[*delegate.graph];
    std::vector<std::string> stems;
    for (const std::size_t op : operators) stems.push_back(OperatorStem(profile_.operators[op].name));
    std::optional<Alignment> alignment = AlignNodes(graph, stems);
    if (!alignment) return none("its delegate has too many operators to be aligned with the graph");
    for (std::size_t i = 0; i < operators.size(); ++i) {
      OperatorSource& own = result_.operators[operators[i]];
      own.graph = delegate.graph;
      Describe(alignment->operators, i, graph, own);
    }
    PlaceInserted(operators);
    aligned_calls_.push_back({instruction, &graph, operators, std::move(stems), std::move(*alignment)});
  }

  void Describe(const std::vector<AlignedOperator>& aligned, std::size_t i, const XnnGraph& graph,
                OperatorSource& own) {
    const AlignedOperator& op = aligned[i];
    if (op.inserted) {
      own.join = Join::kInserted;
      own.work.macs = 0;
      return;
    }
    if (!op.node) {
      own.why = "no node of the delegate's graph fits it";
      return;
    }
    own.join = Join::kNodes;
    own.nodes = {*op.node};
    own.nodes.insert(own.nodes.end(), op.fused.begin(), op.fused.end());
    // Two operators of one bounded node: the multiply-adds are the first one's, and each moves the output.
    own.tensors = TensorsOf(own.nodes, graph);
    own.work = WorkOf(own.nodes, graph);
    own.kleidiai = KleidiaiOf(graph.nodes[*op.node], graph);
    if (i > 0 && aligned[i - 1].node == op.node) {
      own.work = WorkOfBound(graph.nodes[*op.node], graph);
      own.tensors.inputs = own.tensors.outputs;
    }
    SetPlace(graph.nodes[*op.node], graph, own);
    for (const std::size_t candidate : op.candidates) {
      if (candidate == *op.node) continue;
      OperatorSource other;
      SetPlace(graph.nodes[candidate], graph, other);
      if (other.place != own.place || other.debug_handles != own.debug_handles) {
        const std::optional<std::size_t> in_graph = own.graph;
        own = OperatorSource{};
        own.graph = in_graph;
        own.why = "several nodes of the delegate's graph fit it equally well";
        return;
      }
      if (WorkOf({candidate}, graph) != WorkOf({*op.node}, graph)) own.work = Work{};
      if (TensorsOf({candidate}, graph) != TensorsOf({*op.node}, graph)) own.tensors = OperatorTensors{};
      if (KleidiaiOf(graph.nodes[candidate], graph) != own.kleidiai) own.kleidiai = KleidiaiUse{};
      own.nodes.clear();
    }
  }

  // The clamp that a bounded node ends with reads its output and writes it again.
  static Work WorkOfBound(const XnnNode& node, const XnnGraph& graph) {
    Work work;
    const XnnValue* output = node.outputs.empty() ? nullptr : graph.Find(node.outputs[0]);
    work.macs = 0;
    if (output != nullptr) work.read = work.written = BytesOf(output->type, output->shape);
    work.bytes = Sum(work.read, work.written);
    return work;
  }

  // A node that the partitioner put between two others, and a conversion of quantized values, which stands
  // for nothing that the model says, serves the next one, or at the end the one before it.
  void SetPlace(const XnnNode& node, const XnnGraph& graph, OperatorSource& own) {
    own.debug_handles = HandlesOf(node);
    if (sources_ != nullptr) own.place = PlaceOf(own.debug_handles);
    if (node.debug_handle && (own.place || sources_ == nullptr)) return;
    own.between = true;
    for (const bool after : {true, false}) {
      const XnnNode* served = Neighbour(node, graph, after);
      if (served == nullptr) continue;
      if (!node.debug_handle) own.debug_handles = HandlesOf(*served);
      if (sources_ != nullptr) own.place = PlaceOf(HandlesOf(*served));
      return;
    }
  }

  static std::vector<std::uint32_t> HandlesOf(const XnnNode& node) {
    return node.debug_handle ? std::vector<std::uint32_t>{*node.debug_handle} : std::vector<std::uint32_t>{};
  }

  // The nearest node with a place of its own (without sources: with a debug handle) that reads what `node`
  // writes, or writes what it reads; null: none.
  const XnnNode* Neighbour(const XnnNode& node, const XnnGraph& graph, bool after) {
    std::set<std::uint32_t> ids;
    const auto add = [&](const XnnNode& of) {
      const std::vector<std::uint32_t>& more = after ? of.outputs : of.inputs;
      ids.insert(more.begin(), more.end());
    };
    add(node);
    const auto touches = [&](const XnnNode& other) {
      const std::vector<std::uint32_t>& own = after ? other.inputs : other.outputs;
      return std::any_of(own.begin(), own.end(), [&](std::uint32_t id) { return ids.contains(id); });
    };
    constexpr std::size_t kNear = 64;  // nodes that are looked at: they are neighbours
    for (std::size_t step = 1; step <= kNear; ++step) {
      if (after ? node.index + step >= graph.nodes.size() : step > node.index) break;
      const XnnNode& other = graph.nodes[after ? node.index + step : node.index - step];
      if (!touches(other)) continue;
      if (other.debug_handle && (sources_ == nullptr || PlaceOf(HandlesOf(other)))) return &other;
      add(other);
    }
    return nullptr;
  }

  // What XNNPACK inserted serves what runs next, or at the end what ran before.
  void PlaceInserted(const std::vector<std::size_t>& operators) {
    const auto take = [&](OperatorSource& own, const OperatorSource& from) {
      own.place = from.place;
      own.debug_handles = from.debug_handles;
    };
    for (std::size_t i = 0; i < operators.size(); ++i) {
      OperatorSource& own = result_.operators[operators[i]];
      if (own.join != Join::kInserted) continue;
      std::size_t next = i;
      while (next < operators.size() && result_.operators[operators[next]].join == Join::kInserted) ++next;
      if (next < operators.size()) {
        take(own, result_.operators[operators[next]]);
      } else if (i > 0) {
        take(own, result_.operators[operators[i - 1]]);
      }
    }
  }

  // What the nodes of the handles have in common: the modules that they all are in, and their line where it
  // is one.
  std::optional<std::size_t> PlaceOf(const std::vector<std::uint32_t>& handles) {
    std::optional<SourcePlace> place;
    for (const std::uint32_t handle : handles) {
      for (const SourceNode* node : sources_->Of(handle)) {
        // The conversions around a quantized operator share its handle, and say nothing of the model.
        if (node->target.starts_with("quantized_decomposed.")) continue;
        const SourceFrame* frame = ModelFrame(*node);
        if (!place) {
          place = SourcePlace{node->modules, std::nullopt};
          if (frame != nullptr) place->frame = *frame;
          continue;
        }
        std::size_t same = 0;
        while (same < place->modules.size() && same < node->modules.size() &&
               place->modules[same] == node->modules[same])
          ++same;
        place->modules.resize(same);
        if (frame == nullptr || place->frame != *frame) place->frame.reset();
      }
    }
    if (!place || (place->modules.empty() && !place->frame)) return std::nullopt;
    std::string key;
    for (const SourceModule& module : place->modules) key += module.path + '\x1f' + module.type + '\x1e';
    if (place->frame)
      key += fmt::format("{}:{}:{}", place->frame->file, place->frame->line, place->frame->function);
    const auto [known, is_new] = by_text_.try_emplace(std::move(key), result_.places.size());
    if (is_new) result_.places.push_back(std::move(*place));
    return known->second;
  }

  const Profile& profile_;
  const Program& program_;
  const Method& method_;
  const MethodSources* sources_;
  std::map<std::pair<int, int>, const Instruction*> instructions_;
  std::map<std::string, std::size_t> by_text_;  // places
  std::vector<AlignedCall> aligned_calls_;
  ProgramJoin result_;
};

}  // namespace

ProgramJoin JoinProgram(const Profile& profile, const Program& program, const Method& method,
                        const MethodSources* sources) {
  return Joiner(profile, program, method, sources).Run();
}

std::optional<std::string> SourceLine(const ProgramJoin& join, std::size_t op) {
  const std::optional<std::size_t> place = join.operators[op].place;
  if (!place || !join.places[*place].frame) return std::nullopt;
  const SourceFrame& frame = *join.places[*place].frame;
  return fmt::format("{}:{}", frame.file.substr(frame.file.find_last_of("/\\") + 1), frame.line);
}

std::optional<std::string> ModulePath(const ProgramJoin& join, std::size_t op) {
  const std::optional<std::size_t> place = join.operators[op].place;
  if (!place || join.places[*place].modules.empty()) return std::nullopt;
  return join.places[*place].modules.back().path;
}

}  // namespace etprof
