#include "profile/analysis/join/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/views.h"
#include "format/delegates/delegate.h"
#include "format/program/xnn/delegable.h"
#include "format/program/xnn/memory_estimate.h"
#include "format/xnnpack/operator_name.h"
#include "profile/analysis/join/align_nodes.h"
#include "profile/analysis/join/neighbors.h"
#include "profile/analysis/join/source_places.h"
#include "profile/analysis/operators.h"

namespace etprof {
namespace {

using Join = OperatorSource::Join;

// "aten::add.out" of the program logs "native_call_add.out", whose type is "add.out".
bool IsSameKernel(const std::string& type, const std::string& program_name) {
  const std::size_t scope = program_name.rfind("::");
  return type == program_name ||
         type == (scope == std::string::npos ? program_name : program_name.substr(scope + 2));
}

class Joiner {
 public:
  Joiner(const Profile& profile, const Program& program, const Method& method, const MethodSources* sources)
      : profile_(profile), program_(program), method_(method), places_(sources) {
    if (sources == nullptr) result_.no_sources_reason = "where operators come from in the model is not known";
    for (const Instruction& instruction : method.instructions)
      instructions_[{instruction.chain, instruction.index}] = &instruction;
  }

  ProgramJoin Run() {
    result_.operators.resize(profile_.operators.size());
    std::map<std::pair<int, int>, std::vector<std::size_t>> calls;  // operators by call and occurrence
    for (std::size_t i = 0; i < profile_.operators.size(); ++i) {
      const Operator& op = profile_.operators[i];
      OperatorSource& source = result_.operators[i];
      if (op.key.kind == SpanKind::kKernel || IsUnloggedKernel(op)) {
        JoinKernel(op, source);
      } else if (op.key.kind == SpanKind::kBackend) {
        calls[{op.call_index, op.key.occurrence}].push_back(i);
      } else {
        source.join = Join::kFramework;
      }
      if (result_.problem.empty() && !op.backend.empty()) CompareBackend(op);
      if (!result_.problem.empty()) return MakeProblemResult();
    }
    for (auto& [call, operators] : calls) {
      std::ranges::stable_sort(operators, [&](std::size_t a, std::size_t b) {
        return profile_.operators[a].key.ordinal < profile_.operators[b].key.ordinal;
      });
      JoinCall(operators);
      if (!result_.problem.empty()) return MakeProblemResult();
    }
    result_.places = places_.places();
    ConnectNeighbors(profile_, program_, method_, aligned_calls_, result_.operators);
    return std::move(result_);
  }

 private:
  ProgramJoin MakeProblemResult() {
    ProgramJoin unjoined;
    unjoined.operators.resize(profile_.operators.size());
    unjoined.problem = std::move(result_.problem);
    for (OperatorSource& source : unjoined.operators) source.reason = unjoined.problem;
    return unjoined;
  }

  const Instruction* FindInstruction(const Operator& op) const {
    const auto found = instructions_.find({op.key.chain, op.key.instruction});
    return found == instructions_.end() ? nullptr : found->second;
  }

  void JoinKernel(const Operator& op, OperatorSource& source) {
    const Instruction* instruction = FindInstruction(op);
    if (instruction == nullptr || instruction->kind != Instruction::Kind::kKernel ||
        (!IsUnloggedKernel(op) && !IsSameKernel(op.type, method_.operators[instruction->target]))) {
      result_.problem =
          fmt::format("{} ran as instruction {}, which the program has not: it is not the one that ran",
                      op.name, op.key.instruction);
      return;
    }
    source.join = Join::kKernel;
    source.identity = IdentifyNode(*instruction, method_);
    source.tensors = GetTensors(*instruction, method_);
    source.work = ComputeWork(*instruction, method_);
    SetShapes(ShapeDynamism(*instruction, method_), source);
    source.kleidiai = FindKleidiaiUsage(*instruction, method_);
    source.not_delegated_reason = NotDelegatedReason(*instruction, method_);
    SetSourcePlace(places_.FindKernelPlace(*instruction, method_), source);
    source.hint = places_.FindHint(source.debug_handles);
  }

  void CompareBackend(const Operator& op) {
    const Instruction* instruction = FindInstruction(op);
    if (instruction == nullptr || instruction->kind != Instruction::Kind::kDelegate) return;
    const std::string& backend = method_.delegates[instruction->target].backend;
    if (op.backend == backend) return;
    result_.problem = fmt::format(
        "{} wrote the events of instruction {}, which calls {} in the program: it is not the one that ran",
        op.backend, op.key.instruction, backend);
  }

  // If shapes change at run time, only the maximum work is known, not the work of a run.
  static void SetShapes(ProgramTensor::Shape shapes, OperatorSource& source) {
    source.tensors.shapes = shapes;
    if (shapes != ProgramTensor::Shape::kStatic) source.work = Work{};
  }

  static void SetSourcePlace(SourcePlaces::PlaceMatch found, OperatorSource& source) {
    source.debug_handles = std::move(found.debug_handles);
    source.place = found.place;
    source.is_partitioner_conversion = found.is_partitioner_conversion;
  }

  void JoinCall(const std::vector<std::size_t>& operators) {
    const Operator& first = profile_.operators[operators.front()];
    const Instruction* instruction = FindInstruction(first);
    if (instruction == nullptr || instruction->kind != Instruction::Kind::kDelegate) {
      result_.problem = fmt::format(
          "instruction {} ran in a delegate, and is none in the program: it is not the one that ran",
          first.key.instruction);
      return;
    }
    const Delegate& delegate = method_.delegates[instruction->target];
    const auto set_reason = [&](const std::string& reason) {
      for (const std::size_t op : operators) result_.operators[op].reason = reason;
    };
    if (delegate.backend == delegates::kOpenvino.backend) {
      for (const std::size_t op : operators) {
        if (const auto layer = delegates::ParseOpenvinoLayer(profile_.operators[op].name))
          SetSourcePlace(places_.FindLayerPlace(layer->node, method_), result_.operators[op]);
      }
    }
    if (!delegate.graph) return set_reason(fmt::format("the payload of {} is not read", delegate.backend));
    const XnnGraph& graph = program_.xnn_graphs[*delegate.graph];
    std::vector<std::string> stems =
        MapEach(operators, [&](std::size_t op) { return OperatorStem(profile_.operators[op].name); });
    if (const auto quantized = FindQuantizedOperator(operators); quantized && !HasQuantizedValues(graph)) {
      result_.problem = fmt::format(
          "{} ran in instruction {}, whose values are not quantized in the program: it is not the one that "
          "ran",
          profile_.operators[*quantized].name, first.key.instruction);
      return;
    }
    std::optional<Alignment> alignment = AlignNodes(graph, stems);
    if (!alignment) return set_reason("its delegate has too many operators to be aligned with the graph");
    const ProgramTensor::Shape shapes = ShapeDynamism(*instruction, method_);
    for (std::size_t i = 0; i < operators.size(); ++i) {
      OperatorSource& source = result_.operators[operators[i]];
      source.graph = delegate.graph;
      SetOperatorSource(alignment->operators, i, graph, source);
      SetShapes(shapes, source);
    }
    PlaceInsertedOperators(operators);
    aligned_calls_.push_back({instruction, &graph, operators, std::move(stems), std::move(*alignment)});
  }

  // The first operator whose name has a quantized data type: "QS8", "QD8", "QC8W", "PQS8".
  std::optional<std::size_t> FindQuantizedOperator(const std::vector<std::size_t>& operators) const {
    const auto is_quantized = [&](std::size_t op) {
      const auto name = xnnpack::ParseOperatorName(profile_.operators[op].name);
      return name && std::ranges::any_of(name->data_types, [](const std::string& type) {
               return type.starts_with('Q') || type.starts_with("PQ");
             });
    };
    const auto found = std::ranges::find_if(operators, is_quantized);
    return found == operators.end() ? std::nullopt : std::optional(*found);
  }

  static bool HasQuantizedValues(const XnnGraph& graph) {
    return std::ranges::any_of(graph.values,
                               [](const XnnValue& value) { return value.quantization.has_value(); });
  }

  void SetOperatorSource(const std::vector<AlignedOperator>& aligned, std::size_t i, const XnnGraph& graph,
                         OperatorSource& source) {
    const AlignedOperator& op = aligned[i];
    if (op.inserted) {
      source.join = Join::kInserted;
      source.work.macs = 0;
      return;
    }
    if (!op.node) {
      source.reason = "no node of the delegate's graph fits it";
      return;
    }
    source.join = Join::kNodes;
    source.nodes = {*op.node};
    source.nodes.insert(source.nodes.end(), op.fused.begin(), op.fused.end());
    // A bounded node runs as two operators: the MACs belong to the first, and each moves the output.
    source.identity = IdentifyNode(graph.nodes[*op.node], graph);
    for (const std::size_t fused : op.fused) source.fused.push_back(NodeKind(graph.nodes[fused].type));
    source.tensors = GetTensors(source.nodes, graph);
    source.work = ComputeWork(source.nodes, graph);
    source.kleidiai = FindKleidiaiUsage(graph.nodes[*op.node], graph);
    if (i > 0 && aligned[i - 1].node == op.node) {
      source.work = ClampWork(graph.nodes[*op.node], graph);
      source.tensors.inputs = source.tensors.outputs;
      source.identity = NodeIdentity{};  // the clamp is only a part of the node
    }
    SetSourcePlace(places_.FindNodePlace(graph.nodes[*op.node], graph), source);
    for (const std::size_t candidate : op.candidates) {
      if (candidate == *op.node) continue;
      const SourcePlaces::PlaceMatch candidate_place = places_.FindNodePlace(graph.nodes[candidate], graph);
      if (candidate_place.place != source.place || candidate_place.debug_handles != source.debug_handles) {
        const std::optional<std::size_t> in_graph = source.graph;
        NodeIdentity identity;
        identity.kind = identity.text = source.identity.kind;
        source = OperatorSource{};
        source.graph = in_graph;
        source.identity = std::move(identity);
        source.candidates = op.candidates;
        source.reason = "several nodes of the delegate's graph fit it equally well";
        return;
      }
      if (ComputeWork({candidate}, graph) != ComputeWork({*op.node}, graph)) source.work = Work{};
      if (GetTensors({candidate}, graph) != GetTensors({*op.node}, graph)) source.tensors = OperatorTensors{};
      if (FindKleidiaiUsage(graph.nodes[candidate], graph) != source.kleidiai)
        source.kleidiai = KleidiaiUsage{};
      source.identity.contents.clear();
      source.nodes.clear();
      source.candidates = op.candidates;
    }
  }

  // The work of the clamp at the end of a bounded node, which reads and writes the output.
  static Work ClampWork(const XnnNode& node, const XnnGraph& graph) {
    Work work;
    const XnnValue* output = node.outputs.empty() ? nullptr : graph.Find(node.outputs[0]);
    work.macs = 0;
    if (output != nullptr) work.read = work.written = SizeInBytes(output->type, output->shape);
    work.bytes = CheckedSum(work.read, work.written);
    return work;
  }

  // Gives inserted operators the place of the next operator, or of the previous operator at the end.
  void PlaceInsertedOperators(const std::vector<std::size_t>& operators) {
    const auto copy_place = [&](OperatorSource& source, const OperatorSource& from) {
      source.place = from.place;
      source.debug_handles = from.debug_handles;
    };
    for (std::size_t i = 0; i < operators.size(); ++i) {
      OperatorSource& source = result_.operators[operators[i]];
      if (source.join != Join::kInserted) continue;
      std::size_t next = i;
      while (next < operators.size() && result_.operators[operators[next]].join == Join::kInserted) ++next;
      if (next < operators.size()) {
        copy_place(source, result_.operators[operators[next]]);
      } else if (i > 0) {
        copy_place(source, result_.operators[operators[i - 1]]);
      }
    }
  }

  const Profile& profile_;
  const Program& program_;
  const Method& method_;
  SourcePlaces places_;
  std::map<std::pair<int, int>, const Instruction*> instructions_;
  std::vector<AlignedCall> aligned_calls_;
  ProgramJoin result_;
};

}  // namespace

void NameUnloggedKernels(const Method& method, Profile& profile) {
  bool named = false;
  for (Operator& op : profile.operators) {
    if (!IsUnloggedKernel(op)) continue;
    for (const Instruction& instruction : method.instructions) {
      if (instruction.kind != Instruction::Kind::kKernel || instruction.chain != op.key.chain ||
          instruction.index != op.key.instruction)
        continue;
      op.name = op.type = method.operators[instruction.target];
      op.category = Categorize(op.name);
      named = true;
    }
  }
  if (named) ComputeStatistics(profile, 1);  // the new names change the categories
}

ProgramJoin JoinProgram(const Profile& profile, const Program& program, const Method& method,
                        const MethodSources* sources) {
  ProgramJoin join = Joiner(profile, program, method, sources).Run();
  if (join.problem.empty()) {
    join.planned = PlannedBytes(method);
    join.packed_at_least = PackedBytes(method, program);
  }
  return join;
}

const SourceModule* OperatorSource::Module(const Profile& profile) const {
  return place && !profile.program->places[*place].modules.empty()
             ? &profile.program->places[*place].modules.back()
             : nullptr;
}
const SourceFrame* OperatorSource::Frame(const Profile& profile) const {
  return place && profile.program->places[*place].frame ? &*profile.program->places[*place].frame : nullptr;
}
std::optional<std::string> OperatorSource::Line(const Profile& profile) const {
  const SourceFrame* const frame = Frame(profile);
  return frame != nullptr ? std::optional(fmt::format("{}:{}", frame->file, frame->line)) : std::nullopt;
}

std::optional<std::string> SourceLine(const ProgramJoin& join, std::size_t op) {
  const std::optional<std::size_t> place = join.operators[op].place;
  if (!place || !join.places[*place].frame) return std::nullopt;
  return FormatLocation(*join.places[*place].frame);
}

std::optional<std::string> ModulePath(const ProgramJoin& join, std::size_t op) {
  const std::optional<std::size_t> place = join.operators[op].place;
  if (!place || join.places[*place].modules.empty()) return std::nullopt;
  return join.places[*place].modules.back().path;
}

}  // namespace etprof
