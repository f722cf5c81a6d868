#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/graph/model_graph.h"

namespace etprof {
namespace {

using Kind = ModelNode::Kind;
using Join = OperatorSource::Join;

class NodeTimer {
 public:
  NodeTimer(const Report& report, std::size_t experiment, const Method& method, ModelGraph& graph)
      : experiment_(report.experiments[experiment]),
        index_(experiment),
        profile_(*experiment_.profile),
        join_(*profile_.program),
        method_(method),
        graph_(graph) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const ModelNode& node = graph.nodes[i];
      by_id_[node.id] = i;
      if (!node.instruction) continue;
      const std::pair<int, int> instruction = {*node.chain, *node.instruction};
      if (node.graph_node) {
        delegated_[{instruction, *node.graph_node}] = i;
      } else if (node.kind == Kind::kKernel || node.kind == Kind::kDelegate) {
        instruction_nodes_[instruction] = i;
      }
    }
  }

  void Run() {
    node_by_operator_.resize(profile_.operators.size());
    std::vector<const OperatorRow*> rows;
    for (const OperatorRow& row : experiment_.operators) rows.push_back(&row);
    // In execution order, so that inserted operators have the same numbers in all experiments.
    std::ranges::sort(rows, [](const OperatorRow* a, const OperatorRow* b) { return a->op < b->op; });
    for (const OperatorRow* row : rows) {
      if (IsInProgram(row->op)) AddTime(*row, MarkFusedNodes(row->op));
    }
    // From the end, so that the consumers of inserted operators already have nodes.
    const std::size_t num_program_nodes = graph_.nodes.size();
    std::map<std::size_t, std::size_t> extra_nodes;  // from node to operator
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      if (IsInProgram((*row)->op)) continue;
      const std::size_t node = FindOrAddExtraNode((*row)->op);
      if (node >= num_program_nodes) extra_nodes.try_emplace(node, (*row)->op);
      AddTime(**row, node);
    }
    for (const auto& [node, op] : extra_nodes) ConnectExtraNode(op, node);
    graph_.experiments.push_back(index_);
  }

 private:
  const OperatorSource& GetSource(std::size_t op) const { return join_.operators[op]; }
  std::pair<int, int> GetInstruction(std::size_t op) const {
    return {profile_.operators[op].key.chain, profile_.operators[op].key.instruction};
  }

  // The nodes that the operator may belong to, its own first; for an instruction without a graph, the
  // instruction's node.
  std::vector<std::size_t> FindNodes(std::size_t op) const {
    const OperatorSource& source = GetSource(op);
    std::vector<std::size_t> nodes;
    for (const std::size_t node : source.nodes.empty() ? source.candidates : source.nodes) {
      const auto found = delegated_.find({GetInstruction(op), node});
      if (found != delegated_.end()) nodes.push_back(found->second);
    }
    if (const auto found = instruction_nodes_.find(GetInstruction(op));
        nodes.empty() && found != instruction_nodes_.end())
      nodes.push_back(found->second);
    return nodes;
  }
  bool IsInProgram(std::size_t op) const { return !FindNodes(op).empty(); }

  std::size_t MarkFusedNodes(std::size_t op) {
    const std::vector<std::size_t> nodes = FindNodes(op);
    const bool is_certain = !GetSource(op).nodes.empty();
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      ModelNode& other = graph_.nodes[nodes[i]];
      (is_certain ? other.fused_into : other.may_be_fused_into)[index_] = nodes.front();
    }
    return nodes.front();
  }

  // Finds or adds a node for an operator that is not in the program: an operator that XNNPACK inserted,
  // identified by its consumer, or an operator that fits no node.
  std::size_t FindOrAddExtraNode(std::size_t op) {
    const Operator& this_operator = profile_.operators[op];
    const OperatorSource& source = GetSource(op);
    const bool inserted = source.join == Join::kInserted;
    const auto [chain, instruction] = GetInstruction(op);
    const std::string stem = OperatorStem(this_operator.name);
    const std::optional<std::size_t> consumer = ConsumerNode(op);
    const std::string place =
        fmt::format("{}/{}{}/{}/{} {}", graph_.method, chain == 0 ? "" : fmt::format("chain {}/", chain),
                    instruction, inserted ? "inserted" : "unplaced", stem,
                    consumer ? "before " + graph_.nodes[*consumer].id : std::string("alone"));
    std::string id = place;
    // All passes of a loop use one node.
    for (int i = 2; this_operator.key.occurrence == 0 && used_ids_.contains(id); ++i)
      id = fmt::format("{} #{}", place, i);
    used_ids_.insert(id);
    const auto [found, is_new] = by_id_.try_emplace(id, graph_.nodes.size());
    if (is_new) {
      ModelNode node;
      node.kind = inserted ? Kind::kInserted : Kind::kUnplaced;
      node.id = id;
      node.label = stem;
      node.chain = chain;
      node.instruction = instruction;
      if (this_operator.key.kind == SpanKind::kBackend)
        node.delegate = fmt::format("{} at instruction {}", BackendName(instruction, chain), instruction);
      if (const auto layer = ModulePath(join_, op)) {
        node.layer = layer;
        node.layer_type = join_.places[*source.place].modules.back().type;
      }
      node.source = SourceLine(join_, op).value_or("");
      node.group = FindGroup(node, consumer);
      graph_.nodes.push_back(std::move(node));
    }
    return found->second;
  }

  std::string BackendName(int index, int chain) const {
    for (const Instruction& instruction : method_.instructions) {
      if (instruction.index == index && instruction.chain == chain &&
          instruction.kind == Instruction::Kind::kDelegate)
        return method_.delegates[instruction.target].backend;
    }
    return "delegate";
  }

  // The group of the consumer, else of the other nodes of the call.
  std::vector<std::string> FindGroup(const ModelNode& node, std::optional<std::size_t> consumer) const {
    if (consumer) return graph_.nodes[*consumer].group;
    if (graph_.grouping == ModelGraph::Grouping::kDelegate && !node.delegate.empty()) return {node.delegate};
    for (const ModelNode& other : graph_.nodes) {
      if (graph_.grouping == ModelGraph::Grouping::kLayer && node.layer && other.layer == node.layer)
        return other.group;
    }
    return {};
  }

  std::optional<std::size_t> ConsumerNode(std::size_t op) const {
    const std::vector<std::size_t>& consumers = GetSource(op).consumers;
    return consumers.empty() ? std::nullopt : node_by_operator_[consumers.front()];
  }

  // Connects the extra node without changing the program's edges.
  void ConnectExtraNode(std::size_t op, std::size_t node) {
    std::size_t input = 0;
    for (const std::size_t producer : GetSource(op).producers) {
      if (node_by_operator_[producer])
        graph_.nodes[node].edges.push_back({*node_by_operator_[producer], 0, input++});
    }
    const std::optional<std::size_t> consumer = ConsumerNode(op);
    if (consumer && *consumer != node && graph_.nodes[*consumer].kind != Kind::kInserted)
      graph_.nodes[*consumer].edges.push_back({node, 0, 0});
  }

  void AddTime(const OperatorRow& row, std::size_t node) {
    node_by_operator_[row.op] = node;
    NodeTime& time = graph_.nodes[node].times[index_];
    time.operators.push_back(row.op);
    time.total_self += row.total_self;
    time.mean_self_ns += row.mean_self_ns;
    time.share += row.share;
  }

  const ReportExperiment& experiment_;
  std::size_t index_;
  const Profile& profile_;
  const ProgramJoin& join_;
  const Method& method_;
  ModelGraph& graph_;
  std::map<std::string, std::size_t> by_id_;
  // Keyed by instruction and node.
  std::map<std::pair<std::pair<int, int>, std::size_t>, std::size_t> delegated_;
  std::map<std::pair<int, int>, std::size_t> instruction_nodes_;  // keyed by instruction
  std::vector<std::optional<std::size_t>> node_by_operator_;      // indexed by operator
  std::set<std::string> used_ids_;                                // ids of extra nodes of this experiment
};

}  // namespace

void AddTimes(const Report& report, std::size_t experiment, const Method& method, ModelGraph& graph) {
  const auto& profile = report.experiments[experiment].profile;
  if (!profile || !profile->program || !profile->program->problem.empty()) return;
  if (!profile->operators.empty() && profile->operators.front().key.method != method.name) return;
  NodeTimer(report, experiment, method, graph).Run();
}

std::optional<NodeComparison> CompareNode(const ReportComparison& comparison, const ModelNode& node) {
  const auto baseline = node.times.find(comparison.baseline),
             candidate = node.times.find(comparison.candidate);
  if (baseline == node.times.end() || candidate == node.times.end()) return std::nullopt;
  if (baseline->second.mean_self_ns <= 0 || candidate->second.mean_self_ns <= 0) return std::nullopt;
  NodeComparison result;
  TimeComparison sums;
  sums.baseline_ns = baseline->second.mean_self_ns;
  sums.candidate_ns = candidate->second.mean_self_ns;
  const bool single = baseline->second.operators.size() == 1 && candidate->second.operators.size() == 1;
  for (const OperatorMatch& match : comparison.comparison.operators) {
    // If the runs cannot be compared, the verdict of each operator says so.
    if (match.baseline == baseline->second.operators.front()) sums.verdict = match.time_comparison.verdict;
    if (single && match.baseline == baseline->second.operators.front() &&
        match.candidate == candidate->second.operators.front())
      result.time_comparison = match.time_comparison;
  }
  result.ratio = SpeedupRatio(result.time_comparison.value_or(sums));
  return result;
}

}  // namespace etprof
