#include "report/static_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text/text.h"
#include "core/views.h"
#include "format/program/summary.h"
#include "format/program/tensors.h"
#include "format/program/work.h"
#include "format/program/xnn/kleidiai.h"
#include "report/diff/diff.h"
#include "report/diff/program_nodes.h"

namespace etprof {
namespace {

const Delegate* UnreadableDelegate(const Instruction& instruction, const Method& method) {
  if (instruction.kind != Instruction::Kind::kDelegate) return nullptr;
  const Delegate& delegate = method.delegates[instruction.target];
  return delegate.graph ? nullptr : &delegate;
}

bool IsUnknownKernel(const Instruction& instruction, const Method& method) {
  return instruction.kind == Instruction::Kind::kKernel && !CountMacs(instruction, method);
}

// Returns one clause about the parts of the method that are not known.
std::string UnknownReason(const Method& method, const std::string& fact) {
  std::vector<std::string> backends, kernels;
  for (const Instruction& instruction : method.instructions) {
    if (const Delegate* delegate = UnreadableDelegate(instruction, method))
      AppendUnique(delegate->backend, backends);
    if (fact != "delegated" && IsUnknownKernel(instruction, method))
      AppendUnique(method.operators[instruction.target], kernels);
  }
  std::vector<std::string> parts;
  if (!backends.empty())
    parts.push_back(fmt::format("the payload of {} cannot be read", fmt::join(backends, ", ")));
  if (!kernels.empty())
    parts.push_back(fmt::format("the MACs of {} are not known", fmt::join(kernels, ", ")));
  if (parts.empty())
    parts.emplace_back(fact == "sme2" ? "which kernels some operators have is not known"
                                      : "some operators are not known");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// A delegate or kernel of a method whose operations etprof cannot count. If all unknown parts of two methods
// are equal, they contribute equally to the static facts of both methods. FindUnknownParts returns nothing if
// the parts cannot be compared.
struct UnknownPart {
  std::string backend;  // backend or kernel
  std::string tensors;
  ByteView payload;

  bool operator==(const UnknownPart& other) const {
    return backend == other.backend && tensors == other.tensors && std::ranges::equal(payload, other.payload);
  }
};
std::optional<std::vector<UnknownPart>> FindUnknownParts(const Method& method,
                                                         const StaticCheckInput& input) {
  std::vector<UnknownPart> parts;
  for (const Instruction& instruction : method.instructions) {
    if (const Delegate* delegate = UnreadableDelegate(instruction, method)) {
      const auto size = static_cast<std::uint64_t>(delegate->payload);
      if (delegate->offset > input.bytes.size() || size > input.bytes.size() - delegate->offset)
        return std::nullopt;
      parts.push_back({delegate->backend, "", input.bytes.subspan(delegate->offset, size)});
    } else if (IsUnknownKernel(instruction, method)) {
      parts.push_back(
          {method.operators[instruction.target], FormatTensors(GetTensors(instruction, method)), {}});
    } else if (instruction.kind == Instruction::Kind::kDelegate) {
      const XnnGraph& graph = input.program->xnn_graphs[*method.delegates[instruction.target].graph];
      if (!CountMacs(graph)) return std::nullopt;
    }
  }
  return parts;
}

StaticItem MakeStaticItem(const FactInfo& info, const std::string& method, FactRange candidate,
                          double allowed) {
  return {info.key,     info.name, method,  info.unit,           info.is_minimum,
          std::nullopt, candidate, allowed, GateDecision::kPass, ""};
}

class StaticChecker {
 public:
  StaticChecker(const StaticCheckInput* baseline, const StaticCheckInput& candidate,
                const StaticLimits& limits)
      : baseline_(baseline), candidate_(candidate), limits_(limits) {}

  StaticCheck Run(bool require_conclusive) {
    result_.candidate = candidate_.file;
    result_.require_conclusive = require_conclusive;
    const std::vector<Method>& methods = candidate_.program->methods;
    for (const Method& method : methods) {
      const MethodSummary summary = Summarize(method, *candidate_.program);
      facts_.push_back(summary.facts);
      if (method.IsMetadata()) continue;
      if (summary.has_branches) {
        result_.notes.push_back(fmt::format(
            "`{}` branches: shares count each instruction once, however often it runs", method.name));
      }
      if (summary.dynamic) {
        result_.notes.push_back(
            fmt::format("shapes of `{}` change at run time: they count at their upper bound", method.name));
      }
      if (summary.facts.macs.Total() == 0) {
        result_.notes.push_back(
            fmt::format("`{}` has no MACs: 100% of them count as delegated, since none is not", method.name));
      }
    }
    if (baseline_ != nullptr) Compare();
    for (std::size_t i = 0; i < methods.size(); ++i)
      if (!methods[i].IsMetadata()) AddLimits(&methods[i], facts_[i]);
    AddLimits(nullptr, {});
    for (const Method& method : methods) ListExplainingOperators(method);
    for (const StaticItem& item : result_.items)
      result_.decision = CombineDecisions(result_.decision, item.decision);
    return std::move(result_);
  }

 private:
  // --- comparison with the baseline ---

  void Compare() {
    result_.baseline = baseline_->file;
    for (const Method& method : baseline_->program->methods) {
      // The runtime takes the first of two methods with the same name.
      if (FindMethod(*baseline_->program, method.name) != &method) continue;
      if (const Method* other = FindMethod(*candidate_.program, method.name))
        CompareMethods(method, *other);
      else
        missing_methods_.push_back(method.name);
    }
    if (!missing_methods_.empty()) AddMissingMethods();
    for (const FactInfo& info : AllFacts()) {
      if (!info.is_file_fact) continue;
      AddChange(info, "", info.range({}, GetFileFacts(*baseline_->program)), info.range({}, file_));
    }
    for (const Method& method : candidate_.program->methods) {
      if (FindMethod(*baseline_->program, method.name) == nullptr)
        result_.notes.push_back(fmt::format("`{}` is a method of the candidate only", method.name));
    }
    AddChangedOperators();
  }

  void AddMissingMethods() {
    StaticItem item;
    item.fact = item.name = "methods";
    item.is_minimum = true;
    const auto num_methods = static_cast<double>(baseline_->program->methods.size());
    item.baseline = {num_methods, num_methods};
    item.candidate.low = item.candidate.high = num_methods - static_cast<double>(missing_methods_.size());
    item.allowed = num_methods;
    item.decision = GateDecision::kFail;
    item.reason = fmt::format("the candidate has no method `{}`", fmt::join(missing_methods_, "`, `"));
    result_.items.push_back(std::move(item));
  }

  void CompareMethods(const Method& a, const Method& b) {
    if (a.IsMetadata() && b.IsMetadata()) return CompareMetadata(a, b);
    const StaticFacts facts_a = Summarize(a, *baseline_->program).facts;
    const StaticFacts& facts_b = facts_[static_cast<std::size_t>(&b - candidate_.program->methods.data())];
    for (const FactInfo& info : AllFacts()) {
      if (info.is_file_fact) continue;
      StaticItem& item = AddChange(info, a.name, info.range(facts_a, {}), info.range(facts_b, {}));
      if (item.decision != GateDecision::kInconclusive) continue;
      if (info.range(facts_a, {}) == info.range(facts_b, {}) && HaveSameUnknownParts(a, b)) {
        item.decision = GateDecision::kPass;  // equal unknown parts give equal numbers
      } else {
        item.reason = UnknownReason(item.candidate.IsExact() ? a : b, item.fact);
      }
    }
  }

  // Notes changed values of a metadata method, which only returns constants (`get_vocab_size`) and has no
  // costs to compare.
  void CompareMetadata(const Method& a, const Method& b) {
    const auto constants = [](const Method& method) {
      const auto texts = MapEach(method.outputs, [&](std::size_t output) {
        return ConstantText(method.values[output]).value_or("not known");
      });
      return fmt::format("{}", fmt::join(texts, ", "));
    };
    if (const std::string before = constants(a), after = constants(b); before != after)
      result_.notes.push_back(fmt::format("`{}` changed from {} to {}", a.name, before, after));
  }

  bool HaveSameUnknownParts(const Method& a, const Method& b) const {
    const auto facts_a = FindUnknownParts(a, *baseline_), facts_b = FindUnknownParts(b, candidate_);
    return facts_a && facts_b ? *facts_a == *facts_b : std::ranges::equal(baseline_->bytes, candidate_.bytes);
  }

  StaticItem& AddChange(const FactInfo& info, const std::string& method, FactRange a, FactRange b) {
    const auto found_limit = limits_.tolerances.find(info.key);
    const double tolerance = found_limit == limits_.tolerances.end() ? info.tolerance : found_limit->second;
    const double scale = info.is_minimum ? std::max(0.0, 1 - tolerance) : 1 + tolerance;
    const double allowed = (info.is_minimum ? a.high : a.low) * scale;    // certainly within the tolerance
    const double forbidden = (info.is_minimum ? a.low : a.high) * scale;  // certainly beyond the tolerance
    StaticItem& item = result_.items.emplace_back(MakeStaticItem(info, method, b, allowed));
    item.baseline = a;
    const bool is_within = info.is_minimum ? b.low >= allowed : b.high <= allowed;
    const bool is_worse = info.is_minimum ? b.high < forbidden : b.low > forbidden;
    item.decision = is_within  ? GateDecision::kPass
                    : is_worse ? GateDecision::kFail
                               : GateDecision::kInconclusive;
    return item;
  }

  void AddChangedOperators() {
    const ProgramDiff diff = DiffPrograms({baseline_->program, baseline_->sources, {}},
                                          {candidate_.program, candidate_.sources, {}});
    for (const MethodDiff& method : diff.methods) {
      for (const OperatorDifference& difference : method.operators)
        result_.changes.push_back(
            {method.name, difference.change.Text(), difference.line, difference.portable_reason});
    }
  }

  // --- comparison with limits ---

  // Compares a method, or the whole file if null, with the limits.
  void AddLimits(const Method* method, const StaticFacts& facts) {
    for (const FactInfo& info : AllFacts()) {
      const auto found_limit = limits_.limits.find(info.key);
      if (found_limit == limits_.limits.end() || info.is_file_fact != (method == nullptr)) continue;
      const double limit = found_limit->second;
      const FactRange range = info.range(facts, file_);
      StaticItem& item = result_.items.emplace_back(
          MakeStaticItem(info, method == nullptr ? "" : method->name, range, limit));
      if (info.is_minimum ? range.low >= limit : range.high <= limit) continue;
      item.decision = GateDecision::kFail;
      const bool is_certain = info.is_minimum ? range.high < limit : range.low > limit;
      if (!is_certain && method != nullptr)
        item.reason = "it cannot be decided: " + UnknownReason(*method, info.key);
    }
  }

  bool FailsLimit(const Method& method, std::string_view fact) const {
    return std::ranges::any_of(result_.items, [&](const StaticItem& item) {
      return !item.baseline && item.method == method.name && item.fact == fact &&
             item.decision == GateDecision::kFail;
    });
  }

  // Lists the operators that explain failed limits.
  void ListExplainingOperators(const Method& method) {
    const bool portable = FailsLimit(method, "delegated") || FailsLimit(method, "delegated_macs") ||
                          FailsLimit(method, "portable");
    const bool sme2 = FailsLimit(method, "sme2");
    if (!portable && !sme2) return;
    const ProgramNodes nodes =
        MakeProgramNodes(method, *candidate_.program, FindMethodSources(candidate_.sources, method.name));
    for (std::size_t i = 0; i < nodes.nodes.size(); ++i) {
      const ProgramNode& node = nodes.nodes[i];
      StaticOperator explained{method.name, NodeName(node.node), nodes.match[i].line, ""};
      if (portable && !node.delegate) {
        explained.reason = PortableReason(node, method);
        result_.not_delegated.push_back(explained);
      }
      const std::optional<KleidiaiUsage> usage = sme2 ? FindNodeKleidiaiUsage(node, method) : std::nullopt;
      if (!usage || usage->kernels == KleidiaiUsage::Kernels::kSme) continue;
      explained.reason = usage->reason;
      result_.without_sme2.push_back(std::move(explained));
    }
  }

  std::optional<KleidiaiUsage> FindNodeKleidiaiUsage(const ProgramNode& node, const Method& method) const {
    if (!node.delegate) return FindKleidiaiUsage(*node.instruction, method);
    if (!node.graph_node) return std::nullopt;
    const XnnGraph& graph = candidate_.program->xnn_graphs[*method.delegates[*node.delegate].graph];
    return FindKleidiaiUsage(graph.nodes[*node.graph_node], graph);
  }

  const StaticCheckInput* baseline_;  // null: only limits are checked
  const StaticCheckInput& candidate_;
  const StaticLimits& limits_;
  std::vector<StaticFacts> facts_;  // indexed by method of the candidate
  const FileFacts file_ = GetFileFacts(*candidate_.program);
  std::vector<std::string> missing_methods_;  // names of the baseline's methods that the candidate lacks
  StaticCheck result_;
};

}  // namespace

StaticCheck CheckStatic(const StaticCheckInput& input, const StaticLimits& limits) {
  return StaticChecker(nullptr, input, limits).Run(false);
}

StaticCheck CheckStatic(const StaticCheckInput& baseline, const StaticCheckInput& candidate,
                        const StaticLimits& limits, bool require_conclusive) {
  return StaticChecker(&baseline, candidate, limits).Run(require_conclusive);
}

}  // namespace etprof
