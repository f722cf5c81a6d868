#include "report/diff/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <type_traits>

#include "format/program/read/data_file.h"
#include "format/program/summary.h"
#include "report/diff/program_nodes.h"

namespace etprof {
namespace {

using Unit = ProgramProperty::Unit;
using Value = ProgramProperty::Value;

template <typename T>
Value ToPropertyValue(const T& value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<std::int64_t>(value);
  else if constexpr (std::is_same_v<T, std::string>)
    return value;
  else
    return value ? Value(*value) : Value();
}

// Adds the property that `get` returns if it differs between `a` and `b`.
void Compare(const std::string& name, Unit unit, const auto& a, const auto& b, const auto& get,
             std::vector<ProgramProperty>& properties) {
  Value baseline = ToPropertyValue(get(a)), candidate = ToPropertyValue(get(b));
  if (baseline != candidate) properties.push_back({name, unit, std::move(baseline), std::move(candidate)});
}

std::string XnnVersionsText(const Program& program) {
  std::set<std::string> versions;
  for (const XnnGraph& graph : program.xnn_graphs) versions.insert(graph.version);
  return fmt::format("{}", fmt::join(versions, ", "));
}

std::vector<ProgramProperty> FileProperties(const Program& a, const Program& b) {
  std::vector<ProgramProperty> properties;
  const auto add = [&](const char* name, Unit unit, const auto& get) {
    Compare(name, unit, a, b, get, properties);
  };
  using P = const Program&;
  add("program version", Unit::kCount, [](P program) { return program.version; });
  add("XNNPACK graph version", Unit::kText, XnnVersionsText);
  add("file", Unit::kBytes, [](P program) { return program.file_bytes; });
  add("program", Unit::kBytes, InstructionBytes);
  add("delegates' payloads", Unit::kBytes, PayloadBytes);
  add("delegates' named data", Unit::kBytes, NamedDataBytes);
  add("constants of portable kernels", Unit::kCount, [](P program) { return program.constants; });
  add("their bytes", Unit::kBytes, [](P program) { return program.constant_bytes; });
  add("mutable state", Unit::kBytes, [](P program) { return program.mutable_bytes; });
  add("external data", Unit::kCount, [](P program) { return ExternalTensorKeys(program).size(); });
  return properties;
}

std::string ValueText(const Method& method, const std::vector<std::size_t>& values, std::size_t i) {
  if (i >= values.size()) return "";
  const ProgramValue& value = method.values[values[i]];
  if (!value.tensor) {
    const std::optional<std::string> constant =
        method.instructions.empty() ? ConstantText(value) : std::nullopt;
    return constant ? fmt::format("{} {}", GetName(value.kind), *constant) : std::string(GetName(value.kind));
  }
  const auto dynamism = value.tensor->dynamism;
  return fmt::format(
      "{} {}{}", value.tensor->type.name,
      value.tensor->shape.empty() ? "scalar" : fmt::format("{}", fmt::join(value.tensor->shape, "x")),
      dynamism == ProgramTensor::Shape::kStatic    ? ""
      : dynamism == ProgramTensor::Shape::kBounded ? " at most"
                                                   : " unbounded");
}

std::vector<ProgramProperty> MethodProperties(const Method& a, const StaticFacts& facts_a, const Method& b,
                                              const StaticFacts& facts_b) {
  std::vector<ProgramProperty> properties;
  using Values = std::vector<std::size_t> Method::*;
  for (const auto& [role, values] :
       {std::pair<const char*, Values>{"input", &Method::inputs}, {"output", &Method::outputs}}) {
    for (std::size_t i = 0; i < std::max((a.*values).size(), (b.*values).size()); ++i) {
      Compare(
          fmt::format("{} {}", role, i), Unit::kText, a, b,
          [i, member = values](const Method& method) { return ValueText(method, method.*member, i); },
          properties);
    }
  }
  const auto add = [&](const char* name, Unit unit, const auto& get) {
    Compare(name, unit, facts_a, facts_b, get, properties);
  };
  using F = const StaticFacts&;
  add("MACs", Unit::kMacs, [](F facts) { return facts.macs.Total(); });
  add("delegated MACs", Unit::kMacs, [](F facts) { return facts.macs.with_property.Exact(); });
  add("planned memory", Unit::kBytes, [](F facts) { return facts.planned_bytes; });
  add("delegates", Unit::kCount, [](F facts) { return facts.delegates; });
  add("portable kernels", Unit::kCount, [](F facts) { return facts.operators.without_property.known; });
  Compare(
      "instructions", Unit::kCount, a, b, [](const Method& method) { return method.instructions.size(); },
      properties);
  return properties;
}

// The mean self times of a program's nodes.
class NodeTimes {
 public:
  NodeTimes(const std::vector<const Profile*>& profiles, const std::string& method) {
    for (const Profile* profile : profiles) {
      if (profile == nullptr || !profile->program || profile->MethodName() != method) continue;
      runs_ = static_cast<double>(profile->CommonSet().size());
      if (runs_ == 0) continue;
      Add(*profile);
      return;
    }
  }

  bool IsKnown() const { return runs_ > 0; }
  // Returns whether an operator ran that may be this node or another.
  bool IsAmbiguous(const ProgramNode& node) const { return ambiguous_.contains(MakeKey(node)); }
  std::optional<double> MeanTime(const ProgramNode& node) const {
    if (!IsKnown()) return std::nullopt;
    const auto found = times_.find(MakeKey(node));
    return found == times_.end() ? 0 : found->second / runs_;
  }
  double MeanTotal() const { return total_ / runs_; }

 private:
  using Key = std::tuple<int, int, std::optional<std::size_t>>;
  static Key MakeKey(const ProgramNode& node) {
    return {node.instruction->chain, node.instruction->index, node.graph_node};
  }

  void Add(const Profile& profile) {
    for (std::size_t op = 0; op < profile.operators.size(); ++op) {
      const OperatorSource& source = profile.program->operators[op];
      const OperatorKey& key = profile.operators[op].key;
      const auto time = static_cast<double>(profile.statistics[op].total_self);
      if (source.join == OperatorSource::Join::kKernel)
        times_[{key.chain, key.instruction, std::nullopt}] += time;
      else if (source.join == OperatorSource::Join::kNodes && !source.nodes.empty())
        times_[{key.chain, key.instruction, source.nodes.front()}] += time;
      else if (key.kind == SpanKind::kBackend && !source.graph)
        times_[{key.chain, key.instruction, std::nullopt}] += time;  // a delegate whose payload is not read
      for (const std::size_t node : source.candidates) ambiguous_.emplace(key.chain, key.instruction, node);
    }
    for (const std::size_t run : profile.CommonSet()) total_ += static_cast<double>(profile.runs[run].total);
  }

  double runs_ = 0, total_ = 0;
  std::map<Key, double> times_;  // ns; sums over the runs
  std::set<Key> ambiguous_;      // nodes that an operator may be
};

class MethodDiffer {
 public:
  MethodDiffer(const Method& a, const DiffInput& input_a, const Method& b, const DiffInput& input_b)
      : a_(a, input_a), b_(b, input_b) {
    result_.name = a.name;
    const MethodSummary summary_a = Summarize(a, *input_a.program),
                        summary_b = Summarize(b, *input_b.program);
    result_.dynamic = summary_a.dynamic || summary_b.dynamic;
    result_.properties = MethodProperties(a, summary_a.facts, b, summary_b.facts);
  }

  MethodDiff Run() {
    const std::vector<NodePair> pairs = MatchNodes(a_.nodes.match, b_.nodes.match);
    for (const NodePair& pair : pairs) {
      const ProgramNode* a = pair.baseline ? &a_.nodes.nodes[*pair.baseline] : nullptr;
      const ProgramNode* b = pair.candidate ? &b_.nodes.nodes[*pair.candidate] : nullptr;
      if (a != nullptr && b != nullptr) {
        ++result_.matched;
        const bool both_have_modules =
            a_.nodes.match[*pair.baseline].has_module && b_.nodes.match[*pair.candidate].has_module;
        result_.renamed += both_have_modules && !pair.Has(Evidence::kModule) ? 1U : 0U;
        CompareWeights(*a, *b);
      }
      auto change =
          FindProgramChange(a != nullptr ? &a->node : nullptr, b != nullptr ? &b->node : nullptr, pair.moved);
      if (!change) continue;
      OperatorDifference& added = result_.operators.emplace_back();
      added.change = std::move(*change);
      added.line = b != nullptr ? b_.nodes.match[*pair.candidate].line : a_.nodes.match[*pair.baseline].line;
      if (b != nullptr) added.portable_reason = PortableReason(*b, b_.method);
      // Their difference needs both times, so neither is listed if one is not known.
      const bool list_time =
          !(a != nullptr && a_.times.IsAmbiguous(*a)) && !(b != nullptr && b_.times.IsAmbiguous(*b));
      added.baseline = a_.MakeCostsAndAddTime(a, list_time);
      added.candidate = b_.MakeCostsAndAddTime(b, list_time);
    }
    result_.baseline = a_.Time();
    result_.candidate = b_.Time();
    CompareDelegates(pairs);
    return std::move(result_);
  }

 private:
  struct MethodVariant {
    const Method& method;
    ProgramNodes nodes;
    NodeTimes times;
    double listed_ns = 0;  // ns; sum of the listed nodes

    MethodVariant(const Method& variant_method, const DiffInput& input)
        : method(variant_method),
          nodes(MakeProgramNodes(variant_method, *input.program,
                                 FindMethodSources(input.sources, variant_method.name))),
          times(input.profiles, variant_method.name) {}

    OperatorDifference::Costs MakeCostsAndAddTime(const ProgramNode* node, bool list_time) {
      if (node == nullptr) return {};
      const auto ns = list_time ? times.MeanTime(*node) : std::nullopt;
      listed_ns += ns.value_or(0);
      return {node->work.macs, node->work.bytes, ns};
    }
    std::optional<MethodDiff::Time> Time() const {
      if (!times.IsKnown()) return std::nullopt;
      return MethodDiff::Time{times.MeanTotal(), times.MeanTotal() - listed_ns};
    }
    std::map<std::size_t, std::size_t> NodesByDelegate() const {
      std::map<std::size_t, std::size_t> count;
      for (const ProgramNode& node : nodes.nodes)
        if (node.delegate) ++count[*node.delegate];
      return count;
    }
  };

  void CompareWeights(const ProgramNode& a, const ProgramNode& b) {
    if (!HasConstants(a) && !HasConstants(b)) return;
    if (a.node.identity.contents.empty() || b.node.identity.contents.empty()) {
      ++result_.unknown_weights;
    } else if (a.node.identity.contents == b.node.identity.contents) {
      ++result_.equal_weights;
    } else {
      result_.weights.push_back({NodeName(b.node), a.constants, b.constants});
    }
  }

  static bool HasConstants(const ProgramNode& node) {
    return std::ranges::any_of(node.node.tensors.inputs, &OperatorTensor::constant);
  }

  // Adds delegates whose boundaries moved, with the nodes next to the boundaries.
  void CompareDelegates(const std::vector<NodePair>& pairs) {
    std::map<std::size_t, std::map<std::size_t, std::size_t>> shared;  // pairs by delegates of a and b
    const std::map<std::size_t, std::size_t> nodes_of_a = a_.NodesByDelegate(),
                                             nodes_of_b = b_.NodesByDelegate();
    for (const NodePair& pair : pairs) {
      if (!pair.baseline || !pair.candidate) continue;
      const auto& a = a_.nodes.nodes[*pair.baseline].delegate;
      const auto& b = b_.nodes.nodes[*pair.candidate].delegate;
      if (a && b) ++shared[*a][*b];
    }
    std::set<std::size_t> matched;
    for (const auto& [a, nodes] : nodes_of_a) {
      const std::map<std::size_t, std::size_t>& partners = shared[a];
      std::optional<std::size_t> partner;
      for (const auto& [b, count] : partners) {
        if (!matched.contains(b) && (!partner || count > partners.at(*partner))) partner = b;
      }
      const bool same = partner && nodes == nodes_of_b.at(*partner) && partners.at(*partner) == nodes &&
                        a_.method.delegates[a].backend == b_.method.delegates[*partner].backend;
      if (partner) matched.insert(*partner);
      if (same) continue;
      AddDelegate(a_, a, nodes);
      if (partner) AddDelegate(b_, *partner, nodes_of_b.at(*partner));
    }
    for (const auto& [b, nodes] : nodes_of_b) {
      if (!matched.contains(b)) AddDelegate(b_, b, nodes);
    }
  }

  void AddDelegate(const MethodVariant& variant, std::size_t delegate, std::size_t count) {
    DelegateDifference& added = result_.delegates.emplace_back();
    added.in_baseline = &variant == &a_;
    added.backend = variant.method.delegates[delegate].backend;
    added.nodes = count;
    for (const ProgramNode& node : variant.nodes.nodes) {
      if (node.delegate != delegate) continue;
      if (added.first.empty()) added.first = NodeName(node.node);
      added.last = NodeName(node.node);
    }
  }

  MethodVariant a_, b_;
  MethodDiff result_;
};

}  // namespace

bool ProgramDiff::IsEmpty() const {
  return properties.empty() && std::ranges::all_of(methods, [](const MethodDiff& method) {
           return method.in_baseline && method.in_candidate && method.properties.empty() &&
                  method.operators.empty() && method.delegates.empty() && method.weights.empty();
         });
}

ProgramDiff DiffPrograms(const DiffInput& baseline, const DiffInput& candidate) {
  ProgramDiff diff;
  diff.properties = FileProperties(*baseline.program, *candidate.program);
  const auto add_unmatched = [&](const Method& method, bool in_baseline) {
    MethodDiff& unmatched = diff.methods.emplace_back();
    unmatched.name = method.name;
    (in_baseline ? unmatched.in_candidate : unmatched.in_baseline) = false;
  };
  for (const Method& method : baseline.program->methods) {
    if (const Method* other = FindMethod(*candidate.program, method.name))
      diff.methods.push_back(MethodDiffer(method, baseline, *other, candidate).Run());
    else
      add_unmatched(method, true);
  }
  for (const Method& method : candidate.program->methods) {
    if (FindMethod(*baseline.program, method.name) == nullptr) add_unmatched(method, false);
  }
  return diff;
}

}  // namespace etprof
