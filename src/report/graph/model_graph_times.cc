#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/graph/model_graph.h"
#include "report/ladder/matrix.h"

namespace etprof {
namespace {

using Kind = ModelNode::Kind;
using Join = OperatorSource::Join;

class Timer {
 public:
  Timer(const Report& report, std::size_t experiment, const Method& method, ModelGraph& graph)
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
        whole_[instruction] = i;
      }
    }
  }

  void Run() {
    node_of_.resize(profile_.operators.size());
    std::vector<const OperatorRow*> rows;
    for (const OperatorRow& row : experiment_.operators) rows.push_back(&row);
    // In the order in which they ran, so that what was inserted is numbered the same in every experiment.
    std::ranges::sort(rows, [](const OperatorRow* a, const OperatorRow* b) { return a->op < b->op; });
    for (const OperatorRow* row : rows) {
      if (IsOfProgram(row->op)) Place(*row, OwnNode(row->op));
    }
    // From the end, so that what an inserted operator serves has its node.
    const std::size_t of_program = graph_.nodes.size();
    std::map<std::size_t, std::size_t> added;  // by node: operator
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      if (IsOfProgram((*row)->op)) continue;
      const std::size_t node = AddedNode((*row)->op);
      if (node >= of_program) added.try_emplace(node, (*row)->op);
      Place(**row, node);
    }
    for (const auto& [node, op] : added) ConnectAdded(op, node);
    graph_.experiments.push_back(index_);
  }

 private:
  const OperatorSource& SourceOf(std::size_t op) const { return join_.operators[op]; }
  std::pair<int, int> InstructionOf(std::size_t op) const {
    return {profile_.operators[op].key.chain, profile_.operators[op].key.instruction};
  }

  // The nodes that it may be, its own first; of an instruction as a whole that one.
  std::vector<std::size_t> NodesOf(std::size_t op) const {
    const OperatorSource& source = SourceOf(op);
    std::vector<std::size_t> nodes;
    for (const std::size_t node : source.nodes.empty() ? source.candidates : source.nodes) {
      const auto found = delegated_.find({InstructionOf(op), node});
      if (found != delegated_.end()) nodes.push_back(found->second);
    }
    if (const auto found = whole_.find(InstructionOf(op)); nodes.empty() && found != whole_.end())
      nodes.push_back(found->second);
    return nodes;
  }
  bool IsOfProgram(std::size_t op) const { return !NodesOf(op).empty(); }

  std::size_t OwnNode(std::size_t op) {
    const std::vector<std::size_t> nodes = NodesOf(op);
    const bool sure = !SourceOf(op).nodes.empty();
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      ModelNode& other = graph_.nodes[nodes[i]];
      (sure ? other.ran_in : other.may_have_run_in)[index_] = nodes.front();
    }
    return nodes.front();
  }

  // A node for what is none of the program: what XNNPACK inserted, by what it serves, or what fits no node.
  std::size_t AddedNode(std::size_t op) {
    const Operator& own = profile_.operators[op];
    const OperatorSource& source = SourceOf(op);
    const bool inserted = source.join == Join::kInserted;
    const auto [chain, instruction] = InstructionOf(op);
    const std::string stem = OperatorStem(own.name);
    const std::optional<std::size_t> served = ServedBy(op);
    const std::string place =
        fmt::format("{}/{}{}/{}/{} {}", graph_.method, chain == 0 ? "" : fmt::format("chain {}/", chain),
                    instruction, inserted ? "inserted" : "unplaced", stem,
                    served ? "before " + graph_.nodes[*served].id : std::string("alone"));
    std::string id = place;
    // Of several passes of a loop the time stands on one node.
    for (int i = 2; own.key.occurrence == 0 && used_.contains(id); ++i) id = fmt::format("{} #{}", place, i);
    used_.insert(id);
    const auto [found, is_new] = by_id_.try_emplace(id, graph_.nodes.size());
    if (is_new) {
      ModelNode node;
      node.kind = inserted ? Kind::kInserted : Kind::kUnplaced;
      node.id = id;
      node.label = stem;
      node.chain = chain;
      node.instruction = instruction;
      if (own.key.kind == SpanKind::kBackend)
        node.delegate = fmt::format("{} at instruction {}", BackendOf(instruction, chain), instruction);
      if (const auto layer = ModulePath(join_, op)) {
        node.layer = layer;
        node.layer_type = join_.places[*source.place].modules.back().type;
      }
      node.source = SourceLine(join_, op).value_or("");
      node.group = GroupOf(node, served);
      graph_.nodes.push_back(std::move(node));
    }
    return found->second;
  }

  std::string BackendOf(int instruction, int chain) const {
    for (const Instruction& own : method_.instructions) {
      if (own.index == instruction && own.chain == chain && own.kind == Instruction::Kind::kDelegate)
        return method_.delegates[own.target].backend;
    }
    return "delegate";
  }

  // It stands with what it serves, else with the others of its call.
  std::vector<std::string> GroupOf(const ModelNode& node, std::optional<std::size_t> served) const {
    if (served) return graph_.nodes[*served].group;
    if (graph_.grouping == ModelGraph::Grouping::kDelegate && !node.delegate.empty()) return {node.delegate};
    for (const ModelNode& other : graph_.nodes) {
      if (graph_.grouping == ModelGraph::Grouping::kLayer && node.layer && other.layer == node.layer)
        return other.group;
    }
    return {};
  }

  std::optional<std::size_t> ServedBy(std::size_t op) const {
    const std::vector<std::size_t>& consumers = SourceOf(op).consumers;
    return consumers.empty() ? std::nullopt : node_of_[consumers.front()];
  }

  // The edges of the program stay: it stands beside that which it makes ready.
  void ConnectAdded(std::size_t op, std::size_t node) {
    std::size_t input = 0;
    for (const std::size_t producer : SourceOf(op).producers) {
      if (node_of_[producer]) graph_.nodes[node].edges.push_back({*node_of_[producer], 0, input++});
    }
    const std::optional<std::size_t> served = ServedBy(op);
    if (served && *served != node && graph_.nodes[*served].kind != Kind::kInserted)
      graph_.nodes[*served].edges.push_back({node, 0, 0});
  }

  void Place(const OperatorRow& row, std::size_t node) {
    node_of_[row.op] = node;
    NodeTime& time = graph_.nodes[node].times[index_];
    time.operators.push_back(row.op);
    time.total_self += row.total_self;
    time.mean_self += row.mean_self;
    time.share += row.share;
  }

  const ReportExperiment& experiment_;
  std::size_t index_;
  const Profile& profile_;
  const ProgramJoin& join_;
  const Method& method_;
  ModelGraph& graph_;
  std::map<std::string, std::size_t> by_id_;
  std::map<std::pair<std::pair<int, int>, std::size_t>, std::size_t> delegated_;  // by instruction and node
  std::map<std::pair<int, int>, std::size_t> whole_;                              // by instruction
  std::vector<std::optional<std::size_t>> node_of_;                               // by operator
  std::set<std::string> used_;  // ids of nodes that were added or found for this experiment
};

}  // namespace

void AddTimes(const Report& report, std::size_t experiment, const Method& method, ModelGraph& graph) {
  const auto& profile = report.experiments[experiment].profile;
  if (!profile || !profile->program || !profile->program->problem.empty()) return;
  if (!profile->operators.empty() && profile->operators.front().key.method != method.name) return;
  Timer(report, experiment, method, graph).Run();
}

std::optional<NodeComparison> CompareNode(const ReportComparison& comparison, const ModelNode& node) {
  const auto baseline = node.times.find(comparison.baseline),
             candidate = node.times.find(comparison.candidate);
  if (baseline == node.times.end() || candidate == node.times.end()) return std::nullopt;
  if (baseline->second.mean_self <= 0 || candidate->second.mean_self <= 0) return std::nullopt;
  NodeComparison result;
  Quantity together;
  together.baseline_ns = baseline->second.mean_self;
  together.candidate_ns = candidate->second.mean_self;
  const bool single = baseline->second.operators.size() == 1 && candidate->second.operators.size() == 1;
  for (const OperatorMatch& match : comparison.comparison.operators) {
    // Of runs that are none to compare, all operators say so.
    if (match.baseline == baseline->second.operators.front()) together.verdict = match.quantity.verdict;
    if (single && match.baseline == baseline->second.operators.front() &&
        match.candidate == candidate->second.operators.front())
      result.quantity = match.quantity;
  }
  result.ratio = RatioOf(result.quantity.value_or(together));
  return result;
}

}  // namespace etprof
