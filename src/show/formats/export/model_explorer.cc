#include "show/formats/export/model_explorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json/json.h"
#include "core/text/escape.h"
#include "core/views.h"
#include "format/program/tensors.h"
#include "measure/store/run_warnings.h"
#include "show/wording.h"

namespace etprof {
namespace {

using Json = nlohmann::ordered_json;
using NodeKind = ModelNode::Kind;

constexpr const char* kFastColor = "#8fd19e";
constexpr const char* kSlowColor = "#f4a582";
constexpr const char* kNoVerdictColor = "#e0e0e0";

// Milliseconds rounded to a thousandth of a nanosecond: further digits only come from the division.
double Ms(double ns) { return std::round(ns * 1e3) / 1e9; }
std::string MsText(double ns) { return fmt::format("{:.4f} ms", ns / 1e6); }

std::string VerdictText(const TimeComparison& time_comparison) {
  const VerdictTexts texts = MakeVerdictTexts(time_comparison);
  return texts.verdict + (texts.interval.empty() ? "" : "  " + texts.interval);
}

// Model Explorer separates groups by '/', so replace it in their names.
std::string GroupPath(const std::vector<std::string>& group, std::size_t depth) {
  std::string path;
  for (std::size_t i = 0; i < depth; ++i) {
    std::string name = EscapeToOneLine(group[i]);
    std::replace(name.begin(), name.end(), '/', '_');
    path += (i == 0 ? "" : "/") + name;
  }
  return path;
}

constexpr NamedValue<NodeKind> kKinds[] = {
    {NodeKind::kInput, "input of the method"},
    {NodeKind::kOutput, "output of the method"},
    {NodeKind::kKernel, "portable kernel"},
    {NodeKind::kDelegate, "delegate, whose payload is not read"},
    {NodeKind::kMove, "move of a value at the end of a branch"},
    {NodeKind::kInserted, "inserted by XNNPACK when it loaded the graph"},
    {NodeKind::kUnplaced, "an operator that ran and fits no node"}};

std::string KindText(const ModelNode& node) {
  return node.kind == NodeKind::kDelegated ? fmt::format("node {} of the delegate's graph", *node.graph_node)
                                           : FindName(kKinds, node.kind);
}

// The attributes of a node, in display order.
class Attributes {
 public:
  void Add(const std::string& key, const std::string& value) {
    if (!value.empty()) list_.push_back({{"key", EscapeToOneLine(key)}, {"value", EscapeToOneLine(value)}});
  }
  template <typename Count>
  void Add(const std::string& key, const std::optional<Count>& count) {
    if (count) Add(key, fmt::format("{}", *count));
  }
  void Link(const std::string& key, const std::string& id) {
    list_.push_back({{"key", EscapeToOneLine(key)},
                     {"value", {{"type", "node_ids"}, {"nodeIds", {EscapeToOneLine(id)}}}}});
  }
  Json Take() { return std::move(list_); }

 private:
  Json list_ = Json::array();
};

class GraphRenderer {
 public:
  GraphRenderer(const ExplorerModel& model, const ModelGraph& graph)
      : model_(model), graph_(graph), comparisons_(ExplorerComparisons(model)) {}

  Json Render() {
    Json nodes = Json::array();
    for (const ModelNode& node : graph_.nodes) nodes.push_back(NodeJson(node));
    return {{"id", EscapeToOneLine(graph_.method)},
            {"nodes", std::move(nodes)},
            {"groupNodeAttributes", Groups()}};
  }

 private:
  const ReportExperiment& Experiment(std::size_t index) const { return model_.report->experiments[index]; }

  // The label of the experiment, if the graph shows several.
  std::string Prefix(std::size_t experiment) const {
    return graph_.experiments.size() == 1 ? "" : Experiment(experiment).label + ": ";
  }

  Json NodeJson(const ModelNode& node) const {
    Json edges = Json::array(), outputs = Json::array();
    for (const ModelNode::Edge& edge : node.edges) {
      edges.push_back({{"sourceNodeId", EscapeToOneLine(graph_.nodes[edge.node].id)},
                       {"sourceNodeOutputId", std::to_string(edge.output)},
                       {"targetNodeInputId", std::to_string(edge.input)}});
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const OperatorTensor& tensor = node.outputs[i];
      const std::string shape =
          (tensor.shape.empty() ? "scalar" : fmt::format("{}", fmt::join(tensor.shape, "x"))) +
          DynamismSuffix(node.shapes);
      outputs.push_back(
          {{"id", std::to_string(i)},
           {"attrs",
            {{{"key", "shape"}, {"value", shape}}, {{"key", "type"}, {"value", tensor.type.name}}}}});
    }
    return {{"id", EscapeToOneLine(node.id)},
            {"label", EscapeToOneLine(node.label)},
            {"namespace", GroupPath(node.group, node.group.size())},
            {"attrs", MakeAttributes(node)},
            {"incomingEdges", std::move(edges)},
            {"outputsMetadata", std::move(outputs)}};
  }

  Json MakeAttributes(const ModelNode& node) const {
    Attributes list;
    for (const std::size_t experiment : graph_.experiments) AddTime(node, experiment, list);
    for (const std::size_t comparison : comparisons_) AddRatio(node, comparison, list);
    list.Add("is", KindText(node));
    list.Add("between",
             node.is_partitioner_conversion ? "a conversion that no line of the model stands for" : "");
    list.Add("layer", node.layer && node.layer->empty() ? "(model)" : node.layer.value_or(""));
    list.Add("layer type", node.layer_type);
    list.Add("source", node.source);
    list.Add("delegate", node.delegate);
    list.Add("instruction", node.instruction);
    if (!node.constants.empty()) list.Add("constants", ConstantsText(node.constants));
    const auto add_work = [&](const char* key, const std::optional<std::int64_t>& work) {
      if (work) list.Add(key, std::to_string(*work) + DynamismSuffix(node.shapes));
    };
    add_work("MACs", node.work.macs);
    add_work("bytes read", node.work.read);
    add_work("bytes written", node.work.written);
    if (node.kleidiai) {
      list.Add("with SME2", MatrixKernelsText(node.kleidiai->kernels));
      list.Add("why not KleidiAI", node.kleidiai->reason);
    }
    return list.Take();
  }

  static std::string ConstantsText(const std::vector<OperatorTensor>& constants) {
    const auto text = [](const OperatorTensor& tensor) {
      return fmt::format("{} {}", fmt::join(tensor.shape, "x"), tensor.type.name);
    };
    return fmt::format("{}", fmt::join(MapEach(constants, text), ", "));
  }

  void AddTime(const ModelNode& node, std::size_t experiment, Attributes& list) const {
    const std::string label = Prefix(experiment);
    if (const auto target = node.fused_into.find(experiment); target != node.fused_into.end())
      list.Link(label + "ran as part of", graph_.nodes[target->second].id);
    if (const auto target = node.may_be_fused_into.find(experiment); target != node.may_be_fused_into.end())
      list.Link(label + "this or that ran, its time is there", graph_.nodes[target->second].id);
    const auto found = node.times.find(experiment);
    if (found == node.times.end()) return;
    const NodeTime& time = found->second;
    const Profile& profile = *Experiment(experiment).profile;
    list.Add(label + "time", MsText(time.mean_self_ns));
    list.Add(label + "share", PercentText(time.share));
    for (const std::size_t op : time.operators) {
      const Operator& profiled = profile.operators[op];
      const std::string key_prefix =
          time.operators.size() == 1 ? "" : fmt::format("{}, ", KeyText(profiled.key));
      list.Add(label + key_prefix + "operator", profiled.name);
      list.Add(label + key_prefix + "category",
               fmt::format("{} ({})", profiled.category.name, OperatorGroupName(profiled.category.group)));
      list.Add(label + key_prefix + "kernel", profiled.type);
      list.Add(label + key_prefix + "key", KeyText(profiled.key));
    }
  }

  void AddRatio(const ModelNode& node, std::size_t index, Attributes& list) const {
    const ReportComparison& comparison = model_.report->comparisons[index];
    const auto found = CompareNode(comparison, node);
    if (!found) return;
    const std::string text =
        found->ratio ? fmt::format("{} (operators together: no verdict)", RatioText(*found->ratio))
                     : kUndefined;
    list.Add(PairText(comparison), found->time_comparison ? VerdictText(*found->time_comparison) : text);
  }

  std::string PairText(const ReportComparison& comparison) const {
    return fmt::format("{} against {}", Experiment(comparison.candidate).label,
                       Experiment(comparison.baseline).label);
  }

  // The attributes of each group: its type, and the sums over its nodes; the key "" is the whole graph.
  Json Groups() const {
    struct GroupSums {
      std::string path;                                        // path of the module
      std::map<std::size_t, std::pair<double, double>> times;  // mean ns and share, keyed by experiment
      std::optional<std::int64_t> macs = 0;
      ProgramTensor::Shape shapes =
          ProgramTensor::Shape::kStatic;  // the least static kind of shape among those that `macs` used
    };
    std::map<std::string, GroupSums> sums;
    for (const ModelNode& node : graph_.nodes) {
      for (std::size_t depth = 1; depth <= node.group.size(); ++depth) {
        GroupSums& sum = sums[GroupPath(node.group, depth)];
        sum.path = fmt::format("{}", fmt::join(node.group.begin(),
                                               node.group.begin() + static_cast<std::ptrdiff_t>(depth), "."));
        for (const auto& [experiment, time] : node.times) {
          sum.times[experiment].first += time.mean_self_ns;
          sum.times[experiment].second += time.share;
        }
        if (node.kind == NodeKind::kDelegated || node.kind == NodeKind::kDelegate ||
            node.kind == NodeKind::kKernel) {
          sum.macs = etprof::CheckedSum(sum.macs, node.work.macs);
          sum.shapes = std::max(sum.shapes, node.shapes);
        }
      }
    }
    Json groups = Json::object();
    groups[""] = GraphAttributes();
    for (const auto& [name, sum] : sums) {
      Json attributes = Json::object();
      for (const auto& [experiment, time] : sum.times) {
        const std::string label = EscapeToOneLine(Prefix(experiment));
        attributes[label + "time"] = MsText(time.first);
        attributes[label + "share"] = PercentText(time.second);
      }
      const auto type = graph_.types.find(sum.path);
      if (graph_.grouping == ModelGraph::Grouping::kLayer && type != graph_.types.end())
        attributes["module"] = EscapeToOneLine(type->second);
      if (sum.macs) attributes["MACs"] = std::to_string(*sum.macs) + DynamismSuffix(sum.shapes);
      groups[name] = std::move(attributes);
    }
    return groups;
  }

  Json GraphAttributes() const {
    Json attributes = {{"model", EscapeToOneLine(model_.file)}, {"method", EscapeToOneLine(graph_.method)}};
    attributes["groups"] =
        graph_.grouping == ModelGraph::Grouping::kLayer ? "modules of the model" : "delegates";
    for (const std::size_t index : graph_.experiments) {
      const ReportExperiment& experiment = Experiment(index);
      const ExperimentData& data = experiment.Data(*model_.report);
      const std::string label = EscapeToOneLine(Prefix(index));
      if (graph_.experiments.size() == 1) attributes["experiment"] = EscapeToOneLine(experiment.label);
      if (data.emulated) attributes[label + "emulated"] = kEmulatedRemark;
      if (data.trace_enabled) attributes[label + "kernel-log run"] = "shows kernels, not times";
      const double runs = static_cast<double>(experiment.groups.runs);
      if (experiment.groups.runs == 0) continue;
      attributes[label + "Method::execute"] = MsText(static_cast<double>(experiment.groups.total) / runs);
      double operators = 0;
      for (const OperatorRow& row : experiment.operators) operators += row.mean_self_ns;
      attributes[label + "operators"] = MsText(operators);
      for (const AdditiveRow& row : experiment.groups.rows) {
        if (row.IsOutsideOperators() && row.total != 0)
          attributes[label + row.name] = MsText(static_cast<double>(row.total) / runs);
      }
    }
    for (const std::size_t index : comparisons_) {
      const ReportComparison& comparison = model_.report->comparisons[index];
      if (std::ranges::count(graph_.experiments, comparison.candidate) == 0) continue;
      attributes[EscapeToOneLine(PairText(comparison)) + ", latency"] =
          VerdictText(comparison.comparison.latency);
    }
    return attributes;
  }

  const ExplorerModel& model_;
  const ModelGraph& graph_;
  std::vector<std::size_t> comparisons_;
};

void Write(const Json& json, std::ostream& out) { out << JsonText(json, 1) << '\n'; }

// Writes one entry for each graph that has any result.
void WriteNodeData(const ExplorerModel& model, const std::string& name, const Json& colors,
                   const std::function<Json(const ModelNode&)>& make_result, std::ostream& out) {
  Json data = Json::object();
  for (const ModelGraph& graph : model.graphs) {
    Json results = Json::object();
    for (const ModelNode& node : graph.nodes) {
      Json result = make_result(node);
      if (!result.is_null()) results[EscapeToOneLine(node.id)] = std::move(result);
    }
    if (results.empty()) continue;
    Json entry = {{"name", EscapeToOneLine(name)}, {"results", std::move(results)}};
    if (!colors.is_null()) entry["gradient"] = colors;
    data[EscapeToOneLine(graph.method)] = std::move(entry);
  }
  Write(data, out);
}

}  // namespace

void RenderExplorerGraphs(const ExplorerModel& model, std::ostream& out) {
  Json graphs = Json::array();
  for (const ModelGraph& graph : model.graphs) graphs.push_back(GraphRenderer(model, graph).Render());
  Write({{"label", EscapeToOneLine(model.file)}, {"graphs", std::move(graphs)}}, out);
}

void RenderExplorerTimes(const ExplorerModel& model, std::size_t experiment, std::ostream& out) {
  const Json gradient =
      Json::array({{{"stop", 0}, {"bgColor", "#ffffff"}}, {{"stop", 1}, {"bgColor", "#f4734e"}}});
  const ReportExperiment& measured = model.report->experiments[experiment];
  const bool emulated = measured.Data(*model.report).emulated;
  WriteNodeData(
      model, measured.label + ": mean self time, ms" + (emulated ? " (emulated: means nothing)" : ""),
      gradient,
      [&](const ModelNode& node) {
        const auto time = node.times.find(experiment);
        return time == node.times.end() ? Json(nullptr) : Json{{"value", Ms(time->second.mean_self_ns)}};
      },
      out);
}

void RenderExplorerRatios(const ExplorerModel& model, std::size_t index, std::ostream& out) {
  const ReportComparison& comparison = model.report->comparisons[index];
  const std::string name =
      fmt::format("{} / {}: times as fast", model.report->experiments[comparison.baseline].label,
                  model.report->experiments[comparison.candidate].label);
  WriteNodeData(
      model, name, nullptr,
      [&](const ModelNode& node) -> Json {
        const auto found = CompareNode(comparison, node);
        if (!found || !found->ratio) return nullptr;
        const stats::Verdict verdict =
            found->time_comparison ? found->time_comparison->verdict : stats::Verdict::kInconclusive;
        const char* color = verdict == stats::Verdict::kFaster   ? kFastColor
                            : verdict == stats::Verdict::kSlower ? kSlowColor
                                                                 : kNoVerdictColor;
        return {{"value", *found->ratio}, {"bgColor", color}};
      },
      out);
}

std::vector<std::size_t> ExplorerComparisons(const ExplorerModel& model) {
  std::vector<std::size_t> comparisons;
  if (model.report == nullptr) return comparisons;
  for (std::size_t i = 0; i < model.report->comparisons.size(); ++i) {
    const ReportComparison& comparison = model.report->comparisons[i];
    const bool has_both = std::ranges::any_of(model.graphs, [&](const ModelGraph& graph) {
      const auto has = [&](std::size_t experiment) {
        return std::ranges::count(graph.experiments, experiment) > 0;
      };
      return has(comparison.baseline) && has(comparison.candidate);
    });
    if (has_both) comparisons.push_back(i);
  }
  return comparisons;
}

}  // namespace etprof
