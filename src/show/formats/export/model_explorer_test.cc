#include "show/formats/export/model_explorer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "show/formats/formats_testing.h"
namespace etprof {
namespace {

using Json = nlohmann::json;

template <typename Render>
Json RenderAndParse(const Render& render) {
  return Json::parse(read::RenderToString(render));
}

// A model with two nodes; the second reads from the first.
ExplorerModel MakeSmallModel() {
  ModelGraph graph;
  graph.method = "forward";
  graph.grouping = ModelGraph::Grouping::kLayer;
  graph.types["a/b"] = "Odd";
  ModelNode first, second;
  first.kind = ModelNode::Kind::kInput;
  first.id = "forward/input/0";
  first.label = "input 0";
  first.outputs = {{{"float32", 32}, {1, 3}, false}};
  second.id = "forward/0/kernel";
  second.label = "aten::abs.out";
  second.group = {"a/b", "c"};
  second.layer = "a/b.c";
  second.edges = {{0, 0, 0}};
  second.outputs = {{{"float32", 32}, {}, false}};
  second.constants = {{{"int8", 8}, {2, 2}, true}};
  second.work.macs = 12;
  graph.nodes = {first, second};
  return {"model.pte", {graph}, nullptr};
}

std::string Attribute(const Json& node, const std::string& key) {
  for (const Json& attribute : node["attrs"]) {
    if (attribute["key"] == key) return attribute["value"].get<std::string>();
  }
  return "";
}

TEST(ModelExplorer, WritesGraphs) {
  const Json json = RenderAndParse([](std::ostream& out) { RenderExplorerGraphs(MakeSmallModel(), out); });
  EXPECT_EQ(json["label"], "model.pte");
  const Json& graph = json["graphs"][0];
  EXPECT_EQ(graph["id"], "forward");
  const Json& node = graph["nodes"][1];
  EXPECT_EQ(node["namespace"], "a_b/c");  // group names never contain Model Explorer's separator
  EXPECT_EQ(node["incomingEdges"],
            Json::parse(R"([{"sourceNodeId": "forward/input/0", "sourceNodeOutputId": "0",
                             "targetNodeInputId": "0"}])"));
  EXPECT_EQ(node["outputsMetadata"][0]["attrs"][0]["value"], "scalar");
  EXPECT_EQ(graph["nodes"][0]["outputsMetadata"][0]["attrs"][0]["value"], "1x3");
  EXPECT_EQ(Attribute(node, "constants"), "2x2 int8");
  EXPECT_EQ(Attribute(node, "MACs"), "12");
  EXPECT_EQ(Attribute(node, "layer"), "a/b.c");
  EXPECT_EQ(graph["groupNodeAttributes"]["a_b"]["module"], "Odd");
  EXPECT_EQ(graph["groupNodeAttributes"]["a_b/c"]["MACs"], "12");
  EXPECT_EQ(graph["groupNodeAttributes"][""]["method"], "forward");
}

TEST(ModelExplorer, GroupWithAnUnreadDelegateHasNoMacs) {
  ExplorerModel model = MakeSmallModel();
  ModelNode call = model.graphs[0].nodes[1];
  call.id = "forward/1/delegate";
  call.kind = ModelNode::Kind::kDelegate;
  call.group = {"a/b"};
  call.work = {};
  model.graphs[0].nodes.push_back(call);
  const Json json = RenderAndParse([&](std::ostream& out) { RenderExplorerGraphs(model, out); });
  const Json& groups = json["graphs"][0]["groupNodeAttributes"];
  EXPECT_FALSE(groups["a_b"].contains("MACs"));
  EXPECT_EQ(groups["a_b/c"]["MACs"], "12");
}

TEST(ModelExplorer, SizesAreMarkedAsUpperBounds) {
  ExplorerModel model = MakeSmallModel();
  for (ModelNode& node : model.graphs[0].nodes) node.shapes = ProgramTensor::Shape::kBounded;
  const Json json = RenderAndParse([&](std::ostream& out) { RenderExplorerGraphs(model, out); });
  const Json& graph = json["graphs"][0];
  EXPECT_EQ(graph["nodes"][0]["outputsMetadata"][0]["attrs"][0]["value"], "1x3 at most");
  EXPECT_EQ(Attribute(graph["nodes"][1], "MACs"), "12 at most");
  EXPECT_EQ(graph["groupNodeAttributes"]["a_b/c"]["MACs"], "12 at most");
}

TEST(ModelExplorer, InvalidUtf8InNamesIsReplaced) {
  ExplorerModel model = MakeSmallModel();
  model.graphs[0].nodes[1].label = std::string("bad \xff\x1b[31m\0", 11);
  model.graphs[0].nodes[1].source = "\x02";
  const Json json = RenderAndParse([&](std::ostream& out) { RenderExplorerGraphs(model, out); });
  const Json& node = json["graphs"][0]["nodes"][1];
  EXPECT_EQ(node["label"], R"(bad \xff\x1b[31m\x00)");
  EXPECT_EQ(Attribute(node, "source"), R"(\x02)");
}

// A report of experiments in which the second node took these times.
Report MakeTimedReport(const std::vector<double>& ns) {
  Report report;
  for (const double mean : ns) {
    report.run.experiments.emplace_back();
    ReportExperiment experiment;
    experiment.index = report.experiments.size();
    experiment.label = "variant " + std::to_string(experiment.index);
    experiment.profile.emplace();
    Operator op;
    op.key.method = "forward";
    op.key.kind = SpanKind::kKernel;
    op.name = "native_call_abs.out";
    op.type = "abs.out";
    experiment.profile->operators = {op};
    experiment.groups.runs = 1;
    experiment.groups.total = static_cast<Nanoseconds>(mean);
    report.experiments.push_back(std::move(experiment));
  }
  return report;
}

ExplorerModel MakeTimedModel(const Report& report, const std::vector<double>& ns) {
  ExplorerModel model = MakeSmallModel();
  model.report = &report;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    model.graphs[0].experiments.push_back(i);
    model.graphs[0].nodes[1].times[i] = {{0}, static_cast<Nanoseconds>(ns[i]), ns[i], 0.5};
  }
  return model;
}

TEST(ModelExplorer, TimesAreRoundedMilliseconds) {
  const Report report = MakeTimedReport({303585.6});
  const ExplorerModel model = MakeTimedModel(report, {303585.6});
  const std::string times = read::RenderToString(RenderExplorerTimes, model, std::size_t{0});
  EXPECT_NE(times.find("0.3035856\n"), std::string::npos) << times;
  const Json graphs = RenderAndParse([&](std::ostream& stream) { RenderExplorerGraphs(model, stream); });
  EXPECT_EQ(Attribute(graphs["graphs"][0]["nodes"][1], "time"), "0.3036 ms");
  EXPECT_EQ(Attribute(graphs["graphs"][0]["nodes"][1], "share"), "50%");
}

TEST(ModelExplorer, EmulationIsStated) {
  Report report = MakeTimedReport({1000});
  report.run.experiments[0].emulated = true;
  const ExplorerModel model = MakeTimedModel(report, {1000});
  const Json data = RenderAndParse([&](std::ostream& out) { RenderExplorerTimes(model, 0, out); });
  EXPECT_EQ(data["forward"]["name"], "variant 0: mean self time, ms (emulated: means nothing)");
  const Json graphs = RenderAndParse([&](std::ostream& out) { RenderExplorerGraphs(model, out); });
  EXPECT_TRUE(graphs["graphs"][0]["groupNodeAttributes"][""].contains("emulated"));
}

TEST(ModelExplorer, RatiosHaveTheColorOfTheVerdict) {
  Report report = MakeTimedReport({3000, 1000});
  ReportComparison pair;
  pair.baseline = 0;
  pair.candidate = 1;
  OperatorMatch match;
  match.baseline = match.candidate = 0;
  match.time_comparison.baseline_ns = 3000;
  match.time_comparison.candidate_ns = 1000;
  match.time_comparison.verdict = stats::Verdict::kFaster;
  match.time_comparison.estimate = stats::RatioEstimate{};
  match.time_comparison.estimate->log_ratio = std::log(3);
  pair.comparison.operators = {match};
  report.comparisons = {pair};
  ExplorerModel model = MakeTimedModel(report, {3000, 1000});
  const auto result = [&] {
    return RenderAndParse([&](std::ostream& out) {
      RenderExplorerRatios(model, 0, out);
    })["forward"]["results"]["forward/0/kernel"];
  };
  EXPECT_DOUBLE_EQ(result()["value"].get<double>(), 3);
  EXPECT_EQ(result()["bgColor"], "#8fd19e");
  const Json graphs = RenderAndParse([&](std::ostream& out) { RenderExplorerGraphs(model, out); });
  EXPECT_NE(Attribute(graphs["graphs"][0]["nodes"][1], "variant 1 against variant 0").find("faster"),
            std::string::npos);
  EXPECT_EQ(Attribute(graphs["graphs"][0]["nodes"][1], "variant 1: time"), "0.0010 ms");
  // Several operators together have no verdict.
  model.graphs[0].nodes[1].times[1].operators = {0, 0};
  EXPECT_EQ(result()["bgColor"], "#e0e0e0");
  // Contended: no ratio, neither for one operator nor for several.
  match.time_comparison.verdict = stats::Verdict::kContended;
  match.time_comparison.estimate.reset();
  report.comparisons[0].comparison.operators = {match};
  EXPECT_TRUE(RenderAndParse([&](std::ostream& out) { RenderExplorerRatios(model, 0, out); }).empty());
  model.graphs[0].nodes[1].times[1].operators = {0};
  EXPECT_TRUE(RenderAndParse([&](std::ostream& out) { RenderExplorerRatios(model, 0, out); }).empty());
  // If only one variant has a time, there is no ratio; if no graph has both, there is no file.
  model.graphs[0].nodes[1].times.erase(1);
  EXPECT_TRUE(RenderAndParse([&](std::ostream& out) { RenderExplorerRatios(model, 0, out); }).empty());
  EXPECT_EQ(ExplorerComparisons(model).size(), 1U);
  model.graphs[0].experiments = {1};
  EXPECT_TRUE(ExplorerComparisons(model).empty());
}

}  // namespace
}  // namespace etprof
