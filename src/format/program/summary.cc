#include "format/program/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "format/program/work.h"
#include "format/program/xnn/delegable.h"
#include "format/program/xnn/memory_estimate.h"

namespace etprof {
namespace {

Counts SortByCount(const std::map<std::string, std::size_t>& counted) {
  Counts counts(counted.begin(), counted.end());
  std::ranges::stable_sort(counts, [](const auto& a, const auto& b) { return a.second > b.second; });
  return counts;
}

// A sum of sizes that is absent is too large.
Bytes Saturated(std::optional<Bytes> sum) { return sum.value_or(std::numeric_limits<Bytes>::max()); }

DelegateSummary SummarizeGraph(const XnnGraph& graph) {
  DelegateSummary summary;
  summary.macs = CountMacs(graph);
  summary.nodes = graph.nodes.size();
  std::map<std::string, std::size_t> types;
  for (const XnnNode& node : graph.nodes) ++types[node.type];
  summary.node_types = SortByCount(types);
  summary.constants = SumEach(graph.constants, &XnnConstant::bytes);
  std::set<std::string> tensors, weights;
  for (const XnnValue& value : graph.values) (value.constant ? weights : tensors).insert(value.type.name);
  summary.tensor_types.assign(tensors.begin(), tensors.end());
  summary.weight_types.assign(weights.begin(), weights.end());
  return summary;
}

std::string InstructionName(const Instruction& instruction, const Method& method) {
  switch (instruction.kind) {
    case Instruction::Kind::kKernel:
      return method.operators[instruction.target];
    case Instruction::Kind::kDelegate:
      return method.delegates[instruction.target].backend;
    case Instruction::Kind::kUnknown:
      return "unknown instruction";
    default:
      return GetName(instruction.kind);
  }
}

std::vector<Step> MakeSteps(const Method& method, const std::vector<std::optional<std::int64_t>>& macs) {
  std::vector<Step> steps;
  std::map<std::string, std::size_t> names;
  const auto finish_step = [&] {
    if (!names.empty()) steps.back().instruction_counts = SortByCount(names);
    names.clear();
  };
  for (std::size_t i = 0; i < method.instructions.size(); ++i) {
    const Instruction& instruction = method.instructions[i];
    if (instruction.kind == Instruction::Kind::kDelegate) {
      finish_step();
      steps.push_back({i, i, instruction.target, {}, macs[i]});
      continue;
    }
    if (names.empty()) steps.push_back({i, i, std::nullopt, {}, 0});
    steps.back().last = i;
    steps.back().macs = CheckedSum(steps.back().macs, macs[i]);
    ++names[InstructionName(instruction, method)];
  }
  finish_step();
  return steps;
}

// For each chain, the indices of its first and its last delegate call.
std::map<int, std::pair<int, int>> DelegateCallRanges(const Method& method) {
  std::map<int, std::pair<int, int>> calls;
  for (const Instruction& instruction : method.instructions) {
    if (instruction.kind != Instruction::Kind::kDelegate) continue;
    calls.try_emplace(instruction.chain, instruction.index, 0).first->second.second = instruction.index;
  }
  return calls;
}

void CountPortableOperator(const Instruction& kernel, const Method& method, std::optional<std::int64_t> macs,
                           bool between_delegates, std::vector<PortableOperator>& operators) {
  const std::string& name = method.operators[kernel.target];
  const std::string reason = NotDelegatedReason(kernel, method);
  auto found = std::ranges::find_if(
      operators, [&](const PortableOperator& entry) { return entry.name == name && entry.reason == reason; });
  if (found == operators.end()) found = operators.insert(found, {name, reason, 0, 0, 0});
  ++found->calls;
  if (between_delegates) ++found->between_delegates;
  found->macs = CheckedSum(found->macs, macs);
}

// Counts an operation that may multiply matrices. If `usage` is absent, the operation only matters if its
// MACs are unknown.
void CountMatrixOperation(std::optional<KleidiaiUsage> usage, std::optional<std::int64_t> macs,
                          MethodSummary& summary) {
  using Kernels = KleidiaiUsage::Kernels;
  Split& split = summary.facts.matrix_macs;
  if (!usage) {
    if (!macs) split.unknown.Add(std::nullopt);
    return;
  }
  const bool lacks_sme = usage->kernels == Kernels::kXnnpack || usage->kernels == Kernels::kPortable;
  (usage->kernels == Kernels::kSme ? split.with_property
   : lacks_sme                     ? split.without_property
                                   : split.unknown)
      .Add(macs);
  ++summary.facts.matrix_operators;
  std::vector<KleidiaiCount>& counts = summary.kleidiai;
  auto found = std::ranges::find(counts, *usage, &KleidiaiCount::usage);
  if (found == counts.end()) found = counts.insert(found, {std::move(*usage), 0, 0});
  ++found->count;
  found->macs = CheckedSum(found->macs, macs);
}

// Sums the traffic of all nodes in bytes, as if each node ran alone. Absent if it is unknown.
std::optional<std::int64_t> SumTraffic(const XnnGraph& graph) {
  return SumEach(graph.nodes, [&](const XnnNode& node) { return ComputeWork({node.index}, graph).bytes; });
}

// The size of the payloads of all delegates that the predicate accepts; shared payloads count once.
Bytes SumPayloads(const Program& program, const auto& predicate) {
  std::set<std::pair<std::uint64_t, Bytes>> payloads;
  for (const Method& method : program.methods) {
    for (const Delegate& delegate : method.delegates)
      if (predicate(delegate)) payloads.emplace(delegate.offset, delegate.payload);
  }
  return Saturated(SumEach(payloads, &std::pair<std::uint64_t, Bytes>::second));
}

}  // namespace

MethodSummary Summarize(const Method& method, const Program& program) {
  MethodSummary summary;
  for (const Delegate& delegate : method.delegates) {
    summary.delegates.push_back(delegate.graph ? SummarizeGraph(program.xnn_graphs[*delegate.graph])
                                               : DelegateSummary());
  }
  std::vector<std::optional<std::int64_t>> macs;  // per instruction
  const std::map<int, std::pair<int, int>> calls = DelegateCallRanges(method);
  StaticFacts& facts = summary.facts;
  facts.delegates = static_cast<std::int64_t>(method.delegates.size());
  for (const Instruction& instruction : method.instructions) {
    if (instruction.kind == Instruction::Kind::kDelegate) {
      DelegateSummary& delegate = summary.delegates[instruction.target];
      ++delegate.calls;
      macs.push_back(delegate.macs);
      facts.operators.with_property.Add(delegate.nodes);
      facts.macs.with_property.Add(macs.back());
      if (const std::optional<std::size_t> index = method.delegates[instruction.target].graph) {
        const XnnGraph& graph = program.xnn_graphs[*index];
        summary.traffic.with_property.Add(SumTraffic(graph));
        for (const XnnNode& node : graph.nodes)
          CountMatrixOperation(FindKleidiaiUsage(node, graph), node.macs, summary);
      } else {
        summary.traffic.with_property.Add(std::nullopt);
        facts.matrix_macs.unknown.Add(std::nullopt);
      }
      continue;
    }
    macs.push_back(CountMacs(instruction, method));
    facts.macs.without_property.Add(macs.back());
    if (instruction.kind == Instruction::Kind::kKernel) {
      const auto found = calls.find(instruction.chain);
      const bool between_delegates = found != calls.end() && found->second.first < instruction.index &&
                                     instruction.index < found->second.second;
      CountPortableOperator(instruction, method, macs.back(), between_delegates, summary.operators);
      CountMatrixOperation(FindKleidiaiUsage(instruction, method), macs.back(), summary);
      facts.operators.without_property.Add(1);
      summary.traffic.without_property.Add(ComputeWork(instruction, method).bytes);
    }
  }
  std::ranges::stable_sort(summary.operators, [](const PortableOperator& a, const PortableOperator& b) {
    return std::tie(b.calls, a.name, a.reason) < std::tie(a.calls, b.name, b.reason);
  });
  std::ranges::stable_sort(summary.kleidiai, [](const KleidiaiCount& a, const KleidiaiCount& b) {
    return std::tuple(a.usage.kernels, -a.macs.value_or(0)) <
           std::tuple(b.usage.kernels, -b.macs.value_or(0));
  });
  summary.has_branches = method.HasBranches();
  summary.steps = MakeSteps(method, macs);
  facts.planned_bytes = PlannedBytes(method);
  for (const Delegate& delegate : method.delegates) {
    if (delegate.graph)
      facts.packed_weight_bytes.Add(PackedBytes(program.xnn_graphs[*delegate.graph]));
    else if (delegate.IsXnnpack())
      facts.packed_weight_bytes.Add(std::nullopt);
  }
  for (const ProgramValue& value : method.values) {
    if (value.tensor && value.tensor->HasDynamicShape()) summary.dynamic = true;
  }
  return summary;
}

Bytes PayloadBytes(const Program& program) {
  return SumPayloads(program, [](const Delegate&) { return true; });
}

Bytes InstructionBytes(const Program& program) {
  const Bytes payloads = SumPayloads(program, [](const Delegate& delegate) { return !delegate.in_segment; });
  return std::max<Bytes>(
      0, program.flatbuffer_bytes - Saturated(CheckedSum(payloads, program.inline_constant_bytes)));
}

std::optional<std::string> ConstantText(const ProgramValue& value) {
  if (value.kind == ProgramValue::Kind::kBool && value.integer) return *value.integer != 0 ? "true" : "false";
  if (value.integer) return fmt::format("{}", *value.integer);
  if (value.number) return fmt::format("{}", *value.number);
  return value.text;
}

Bytes NamedDataBytes(const Program& program) {
  std::set<std::size_t> segments;
  for (const NamedData& entry : program.named_data) segments.insert(entry.segment);
  return Saturated(SumEach(segments, [&](std::size_t segment) { return program.segments[segment].bytes; }));
}

FileFacts GetFileFacts(const Program& program) {
  return {program.file_bytes, Saturated(CheckedSum(PayloadBytes(program), NamedDataBytes(program)))};
}

std::optional<double> Share(std::optional<std::int64_t> part, std::optional<std::int64_t> whole) {
  if (!part || !whole || *whole == 0) return std::nullopt;
  return static_cast<double>(*part) / static_cast<double>(*whole);
}

}  // namespace etprof
