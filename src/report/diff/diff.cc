#include "report/diff/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "program/read/data_file.h"
#include "program/summary.h"
#include "report/diff/program_nodes.h"

namespace etprof {
namespace {

using PropertyUnit = ProgramProperty::Unit;

class Properties {
 public:
  void Text(std::string name, std::string a, std::string b) {
    if (a == b) return;
    ProgramProperty& added = Add(std::move(name), PropertyUnit::kText);
    added.baseline = std::move(a);
    added.candidate = std::move(b);
  }
  void Number(std::string name, PropertyUnit unit, std::optional<std::int64_t> a,
              std::optional<std::int64_t> b) {
    if (a == b) return;
    ProgramProperty& added = Add(std::move(name), unit);
    added.baseline_number = a;
    added.candidate_number = b;
  }
  std::vector<ProgramProperty> Take() { return std::move(properties_); }

 private:
  ProgramProperty& Add(std::string name, PropertyUnit unit) {
    ProgramProperty& added = properties_.emplace_back();
    added.name = std::move(name);
    added.unit = unit;
    return added;
  }
  std::vector<ProgramProperty> properties_;
};

std::optional<std::int64_t> Signed(std::uint64_t number) { return static_cast<std::int64_t>(number); }

std::string XnnVersionsOf(const Program& program) {
  std::set<std::string> versions;
  for (const XnnGraph& graph : program.xnn_graphs) versions.insert(graph.version);
  return fmt::format("{}", fmt::join(versions, ", "));
}

std::vector<ProgramProperty> FileProperties(const Program& a, const Program& b) {
  Properties properties;
  properties.Number("program version", PropertyUnit::kCount, a.version, b.version);
  properties.Text("XNNPACK graph version", XnnVersionsOf(a), XnnVersionsOf(b));
  properties.Number("file", PropertyUnit::kBytes, a.file_bytes, b.file_bytes);
  properties.Number("program", PropertyUnit::kBytes, a.flatbuffer_bytes, b.flatbuffer_bytes);
  properties.Number("delegates' payloads", PropertyUnit::kBytes, PayloadBytes(a), PayloadBytes(b));
  properties.Number("delegates' named data", PropertyUnit::kBytes, NamedDataBytes(a), NamedDataBytes(b));
  properties.Number("constants of portable kernels", PropertyUnit::kCount, Signed(a.constants),
                    Signed(b.constants));
  properties.Number("their bytes", PropertyUnit::kBytes, a.constant_bytes, b.constant_bytes);
  properties.Number("mutable state", PropertyUnit::kBytes, a.mutable_bytes, b.mutable_bytes);
  properties.Number("external data", PropertyUnit::kCount, Signed(ExternalNames(a).size()),
                    Signed(ExternalNames(b).size()));
  return properties.Take();
}

std::string ValueText(const Method& method, const std::vector<std::size_t>& of, std::size_t i) {
  if (i >= of.size()) return "";
  const ProgramValue& value = method.values[of[i]];
  if (!value.tensor) return std::string(NameOf(value.kind));
  const auto dynamism = value.tensor->dynamism;
  return fmt::format(
      "{} {}{}", value.tensor->type.name,
      value.tensor->shape.empty() ? "scalar" : fmt::format("{}", fmt::join(value.tensor->shape, "x")),
      dynamism == ProgramTensor::Shape::kStatic    ? ""
      : dynamism == ProgramTensor::Shape::kBounded ? " at most"
                                                   : " unbounded");
}

std::vector<ProgramProperty> MethodProperties(const Method& a, const Program& of_a, const Method& b,
                                              const Program& of_b) {
  Properties properties;
  const auto add_values = [&](const char* role, const std::vector<std::size_t>& x,
                              const std::vector<std::size_t>& y) {
    for (std::size_t i = 0; i < std::max(x.size(), y.size()); ++i)
      properties.Text(fmt::format("{} {}", role, i), ValueText(a, x, i), ValueText(b, y, i));
  };
  add_values("input", a.inputs, b.inputs);
  add_values("output", a.outputs, b.outputs);
  const StaticFacts x = Summarize(a, of_a).facts, y = Summarize(b, of_b).facts;
  properties.Number("MACs", PropertyUnit::kMacs, x.macs.Whole(), y.macs.Whole());
  properties.Number("delegated MACs", PropertyUnit::kMacs, x.macs.with.Exact(), y.macs.with.Exact());
  properties.Number("planned memory", PropertyUnit::kBytes, x.planned, y.planned);
  properties.Number("delegates", PropertyUnit::kCount, x.delegates, y.delegates);
  properties.Number("portable kernels", PropertyUnit::kCount, x.operators.without.known,
                    y.operators.without.known);
  properties.Number("instructions", PropertyUnit::kCount, Signed(a.instructions.size()),
                    Signed(b.instructions.size()));
  return properties.Take();
}

// Mean self times of a program's nodes.
class NodeTimes {
 public:
  NodeTimes(const std::vector<const Profile*>& profiles, const std::string& method) {
    for (const Profile* profile : profiles) {
      if (profile == nullptr || !profile->program || profile->operators.empty() ||
          profile->operators.front().key.method != method)
        continue;
      runs_ = static_cast<double>(profile->CommonSet().size());
      if (runs_ == 0) continue;
      Add(*profile);
      return;
    }
  }

  bool IsKnown() const { return runs_ > 0; }
  std::optional<double> Of(const ProgramNode& node) const {
    if (!IsKnown()) return std::nullopt;
    const auto found = times_.find({node.chain, node.instruction, node.graph_node});
    return found == times_.end() ? 0 : found->second / runs_;
  }
  double Whole() const { return whole_ / runs_; }

 private:
  using Key = std::tuple<int, int, std::optional<std::size_t>>;

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
        times_[{key.chain, key.instruction, std::nullopt}] += time;  // of a payload that is not read
    }
    for (const std::size_t run : profile.CommonSet()) whole_ += static_cast<double>(profile.runs[run].total);
  }

  double runs_ = 0, whole_ = 0;
  std::map<Key, double> times_;  // sums over the runs
};

class MethodDiffer {
 public:
  MethodDiffer(const Method& a, const DiffSide& of_a, const Method& b, const DiffSide& of_b)
      : a_(a, of_a), b_(b, of_b) {
    result_.name = a.name;
    result_.dynamic = Summarize(a, *of_a.program).dynamic || Summarize(b, *of_b.program).dynamic;
    result_.properties = MethodProperties(a, *of_a.program, b, *of_b.program);
  }

  MethodDiff Run() {
    const std::vector<NodePair> pairs = MatchNodes(a_.nodes.match, b_.nodes.match);
    for (const NodePair& pair : pairs) {
      const ProgramNode* a = pair.baseline ? &a_.nodes.nodes[*pair.baseline] : nullptr;
      const ProgramNode* b = pair.candidate ? &b_.nodes.nodes[*pair.candidate] : nullptr;
      if (a != nullptr && b != nullptr) {
        ++result_.matched;
        const bool placed = a_.nodes.match[*pair.baseline].placed && b_.nodes.match[*pair.candidate].placed;
        result_.renamed += placed && !pair.Has(Evidence::kModule) ? 1 : 0;
        CompareWeights(*a, *b);
      }
      auto change =
          ChangeOf(a != nullptr ? &a->node : nullptr, b != nullptr ? &b->node : nullptr, pair.moved);
      if (!change) continue;
      OperatorDifference& added = result_.operators.emplace_back();
      added.change = std::move(*change);
      added.line = b != nullptr ? b_.nodes.match[*pair.candidate].line : a_.nodes.match[*pair.baseline].line;
      if (b != nullptr) added.why_portable = WhyPortable(*b, b_.method);
      a_.Tell(a, added.baseline_macs, added.baseline_bytes, added.baseline_ns);
      b_.Tell(b, added.candidate_macs, added.candidate_bytes, added.candidate_ns);
    }
    a_.TellRest(result_.baseline_ns, result_.baseline_rest_ns);
    b_.TellRest(result_.candidate_ns, result_.candidate_rest_ns);
    CompareDelegates(pairs);
    return std::move(result_);
  }

 private:
  struct Side {
    const Method& method;
    ProgramNodes nodes;
    NodeTimes times;
    double told_ns = 0;  // of the nodes that are listed

    Side(const Method& of, const DiffSide& side)
        : method(of),
          nodes(NodesOf(of, *side.program, SourcesOf(side.sources, of))),
          times(side.profiles, of.name) {}

    void Tell(const ProgramNode* node, std::optional<std::int64_t>& macs, std::optional<Bytes>& bytes,
              std::optional<double>& ns) {
      if (node == nullptr) return;
      macs = node->work.macs;
      bytes = node->work.bytes;
      ns = times.Of(*node);
      told_ns += ns.value_or(0);
    }
    void TellRest(std::optional<double>& whole_ns, std::optional<double>& rest_ns) const {
      if (!times.IsKnown()) return;
      whole_ns = times.Whole();
      rest_ns = times.Whole() - told_ns;
    }
    std::map<std::size_t, std::size_t> NodesByDelegate() const {
      std::map<std::size_t, std::size_t> count;
      for (const ProgramNode& node : nodes.nodes)
        if (node.delegate) ++count[*node.delegate];
      return count;
    }
  };

  void CompareWeights(const ProgramNode& a, const ProgramNode& b) {
    const bool has_a = HasConstants(a), has_b = HasConstants(b);
    if (!has_a && !has_b) return;
    if (a.node.identity.contents.empty() || b.node.identity.contents.empty()) {
      ++result_.unknown_weights;
    } else if (a.node.identity.contents == b.node.identity.contents) {
      ++result_.equal_weights;
    } else {
      result_.weights.push_back({NameOfNode(b.node), a.constants, b.constants});
    }
  }

  static bool HasConstants(const ProgramNode& node) {
    return std::ranges::any_of(node.node.tensors.inputs, &OperatorTensor::constant);
  }

  // Where the delegates' borders are, by the nodes next to them, told only where a border moved.
  void CompareDelegates(const std::vector<NodePair>& pairs) {
    std::map<std::size_t, std::map<std::size_t, std::size_t>> shared;  // by delegates of a and b: pairs
    const std::map<std::size_t, std::size_t> of_a = a_.NodesByDelegate(), of_b = b_.NodesByDelegate();
    for (const NodePair& pair : pairs) {
      if (!pair.baseline || !pair.candidate) continue;
      const auto& a = a_.nodes.nodes[*pair.baseline].delegate;
      const auto& b = b_.nodes.nodes[*pair.candidate].delegate;
      if (a && b) ++shared[*a][*b];
    }
    std::set<std::size_t> used;
    for (const auto& [a, nodes] : of_a) {
      const auto partners = shared.find(a);
      std::optional<std::size_t> partner;
      if (partners != shared.end()) {
        for (const auto& [b, count] : partners->second) {
          if (!used.contains(b) && (!partner || count > partners->second.at(*partner))) partner = b;
        }
      }
      const bool same = partner && nodes == of_b.at(*partner) && partners->second.at(*partner) == nodes &&
                        a_.method.delegates[a].backend == b_.method.delegates[*partner].backend;
      if (partner) used.insert(*partner);
      if (same) continue;
      AddDelegate(a_, a, nodes);
      if (partner) AddDelegate(b_, *partner, of_b.at(*partner));
    }
    for (const auto& [b, nodes] : of_b) {
      if (!used.contains(b)) AddDelegate(b_, b, nodes);
    }
  }

  void AddDelegate(const Side& side, std::size_t delegate, std::size_t count) {
    DelegateDifference& added = result_.delegates.emplace_back();
    added.in_baseline = &side == &a_;
    added.backend = side.method.delegates[delegate].backend;
    added.nodes = count;
    for (const ProgramNode& node : side.nodes.nodes) {
      if (node.delegate != delegate) continue;
      if (added.first.empty()) added.first = NameOfNode(node.node);
      added.last = NameOfNode(node.node);
    }
  }

  Side a_, b_;
  MethodDiff result_;
};

}  // namespace

bool ProgramDiff::IsEmpty() const {
  return properties.empty() && std::ranges::all_of(methods, [](const MethodDiff& method) {
           return method.in_baseline && method.in_candidate && method.properties.empty() &&
                  method.operators.empty() && method.delegates.empty() && method.weights.empty();
         });
}

ProgramDiff DiffPrograms(const DiffSide& baseline, const DiffSide& candidate) {
  ProgramDiff diff;
  diff.properties = FileProperties(*baseline.program, *candidate.program);
  for (const Method& method : baseline.program->methods) {
    if (const Method* other = MethodNamed(*candidate.program, method.name)) {
      diff.methods.push_back(MethodDiffer(method, baseline, *other, candidate).Run());
    } else {
      MethodDiff& alone = diff.methods.emplace_back();
      alone.name = method.name;
      alone.in_candidate = false;
    }
  }
  for (const Method& method : candidate.program->methods) {
    if (MethodNamed(*baseline.program, method.name) != nullptr) continue;
    MethodDiff& alone = diff.methods.emplace_back();
    alone.name = method.name;
    alone.in_baseline = false;
  }
  return diff;
}

}  // namespace etprof
