#include "report/graph/model_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "core/error.h"
#include "core/golden_testing.h"
#include "format/program/read/program_reader.h"
#include "profile/analysis/join/join.h"
#include "profile/analysis/testing.h"

namespace etprof {
namespace {

using handmade::ExecutedInstruction;
using handmade::MakeProfile;
using handmade::MakeXnnGraph;
using handmade::MethodBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Kind = ModelNode::Kind;

const ModelNode& FindNode(const ModelGraph& graph, const std::string& id) {
  for (const ModelNode& node : graph.nodes) {
    if (node.id == "forward/" + id) return node;
  }
  throw std::runtime_error("no node " + id);
}

// All edges, as "0/kernel > 1/node/0".
std::vector<std::string> ListGraphEdges(const ModelGraph& graph) {
  std::vector<std::string> edges;
  const auto name = [](const ModelNode& node) { return node.id.substr(std::string("forward/").size()); };
  for (const ModelNode& node : graph.nodes) {
    for (const ModelNode::Edge& edge : node.edges)
      edges.push_back(name(graph.nodes[edge.node]) + " > " + name(node));
  }
  return edges;
}

// A report of experiments with these executed instructions.
Report MakeReport(const MethodBuilder& builder,
                  const std::vector<std::vector<ExecutedInstruction>>& experiments) {
  RunData run;
  std::vector<std::optional<Profile>> profiles;
  for (const std::vector<ExecutedInstruction>& executed : experiments) {
    run.experiments.emplace_back();
    run.experiments.back().name = "experiment " + std::to_string(run.experiments.size());
    Profile profile = MakeProfile({executed, executed});
    profile.program = JoinProgram(profile, builder.program, builder.method, nullptr);
    profiles.emplace_back(std::move(profile));
  }
  return Assemble(std::move(run), std::move(profiles));
}

// The graph with the times of all experiments. The time of each operator must be on exactly one node.
ModelGraph MakeTimedGraph(const MethodBuilder& builder,
                          const std::vector<std::vector<ExecutedInstruction>>& experiments) {
  const Report report = MakeReport(builder, experiments);
  ModelGraph graph = BuildModelGraph(builder.method, builder.program, nullptr, true);
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    AddTimes(report, i, builder.method, graph);
    Nanoseconds node_ns = 0, operator_ns = 0;
    std::size_t operators = 0;
    for (const ModelNode& node : graph.nodes) {
      const auto time = node.times.find(i);
      if (time == node.times.end()) continue;
      node_ns += time->second.total_self;
      operators += time->second.operators.size();
    }
    for (const OperatorRow& row : report.experiments[i].operators) operator_ns += row.total_self;
    EXPECT_EQ(node_ns, operator_ns);
    EXPECT_EQ(operators, report.experiments[i].operators.size());
  }
  return graph;
}

MethodBuilder MakeOneCall(const std::vector<handmade::Node>& nodes, std::uint32_t output) {
  MethodBuilder builder(2);
  builder.method.inputs = {0};
  builder.method.outputs = {1};
  builder.Call(MakeXnnGraph(nodes, {0}, {output}, {0, output}), {0, 1});
  return builder;
}

TEST(ModelGraph, BuildsARealProgram) {
  const Program program =
      ReadProgramFile(std::string(ETPROF_TEST_DATA) + "/../fuzz/corpus/program/mixed_delegates.pte");
  const ModelGraph graph = BuildModelGraph(program.methods[0], program, nullptr, false);
  EXPECT_EQ(graph.grouping, ModelGraph::Grouping::kDelegate);
  EXPECT_THAT(ListGraphEdges(graph),
              UnorderedElementsAre("input/0 > 0/node/0", "0/node/0 > 0/node/1", "0/node/1 > 0/node/2",
                                   "0/node/2 > 1/kernel", "1/kernel > 2/kernel", "2/kernel > 3/node/0",
                                   "3/node/0 > output/0"));
  const ModelNode& convolution = FindNode(graph, "0/node/1");
  EXPECT_EQ(convolution.label, "Conv2d");
  EXPECT_THAT(convolution.group, ElementsAre("XnnpackBackend at instruction 0"));
  EXPECT_THAT(convolution.constants, SizeIs(2));
  EXPECT_THAT(convolution.outputs, SizeIs(1));
  EXPECT_EQ(convolution.work.macs, 2592);
  EXPECT_EQ(FindNode(graph, "1/kernel").label, "aten::mean.out");
  EXPECT_THAT(FindNode(graph, "1/kernel").group, IsEmpty());
}

TEST(ModelGraph, TakesShapesFromTheInstruction) {
  Program program =
      ReadProgramFile(std::string(ETPROF_TEST_DATA) + "/../fuzz/corpus/program/mixed_delegates.pte");
  Method& method = program.methods[0];
  method.values[method.inputs[0]].tensor->dynamism = ProgramTensor::Shape::kBounded;
  const ModelGraph graph = BuildModelGraph(method, program, nullptr, false);
  EXPECT_EQ(FindNode(graph, "input/0").shapes, ProgramTensor::Shape::kBounded);
  EXPECT_EQ(FindNode(graph, "0/node/1").shapes, ProgramTensor::Shape::kBounded);
  EXPECT_EQ(FindNode(graph, "1/kernel").shapes, ProgramTensor::Shape::kStatic);
}

TEST(ModelGraph, GroupsNodesByModule) {
  MethodSources sources;
  sources.nodes.push_back({"n",
                           "t",
                           {{"", "Net"}, {"block", "Sequential"}, {"block.0", "Conv2d"}},
                           {{"/home/x/model.py", 7, "forward", ""}}});
  sources.handles[1] = {0};
  const MethodBuilder builder = MakeOneCall({{"XNNConv2d", {0, 1000}, {1}}, {"XNNAbs", {1}, {2}}}, 2);
  const ModelGraph graph = BuildModelGraph(builder.method, builder.program, &sources, false);
  EXPECT_EQ(graph.grouping, ModelGraph::Grouping::kLayer);
  const ModelNode& node = FindNode(graph, "0/node/0");
  EXPECT_THAT(node.group, ElementsAre("block", "0"));
  EXPECT_EQ(node.layer, "block.0");
  EXPECT_EQ(node.source, "model.py:7");
  EXPECT_EQ(graph.types.at("block"), "Sequential");
  EXPECT_EQ(node.delegate, "XnnpackBackend at instruction 0");
  EXPECT_THAT(BuildModelGraph(builder.method, builder.program, &sources, true).nodes[1].group,
              ElementsAre("XnnpackBackend at instruction 0"));
}

TEST(ModelGraph, GroupsUnreadCallsByModule) {
  MethodSources sources;
  sources.nodes.push_back({"n", "t", {{"", "Net"}, {"block", "Conv2d"}}, {}});
  sources.handles[1] = {0};
  sources.instructions[0] = {1};
  MethodBuilder builder(2);
  builder.method.inputs = {0};
  builder.CallOtherBackend({0, 1});
  const ModelGraph graph = BuildModelGraph(builder.method, builder.program, &sources, false);
  EXPECT_THAT(FindNode(graph, "0/delegate").group, ElementsAre("block"));
}

TEST(ModelGraph, ConnectsBranchesAndSeveralOutputs) {
  MethodBuilder builder(8);
  builder.method.inputs = {0};
  const std::size_t halves = builder.AddTensorList({1, 2});
  builder.Kernel("aten::split_copy.Tensor_out", {0, halves, halves}).CallOtherBackend({1, 3});
  builder.Kernel("aten::abs.out", {2, 4}).Move(3, 5).Move(4, 5).Kernel("aten::add.out", {5, 2, 6});
  const ModelGraph graph = BuildModelGraph(builder.method, builder.program, nullptr, false);
  EXPECT_THAT(ListGraphEdges(graph),
              UnorderedElementsAre("input/0 > 0/kernel", "0/kernel > 1/delegate", "0/kernel > 2/kernel",
                                   "1/delegate > 3/move", "2/kernel > 4/move", "3/move > 5/kernel",
                                   "4/move > 5/kernel", "0/kernel > 5/kernel"));
  EXPECT_EQ(FindNode(graph, "1/delegate").label, "OtherBackend");
  const ModelNode& add = FindNode(graph, "5/kernel");
  ASSERT_THAT(add.edges, SizeIs(3));
  EXPECT_EQ(add.edges[1].input, 0U);  // both moves provide its first input
  EXPECT_EQ(add.edges[2].input, 1U);
  EXPECT_EQ(add.edges[2].output, 1U);  // the second output of the split
}

TEST(ModelGraph, AddsTimesOfFusedAndSplitNodes) {
  const MethodBuilder builder =
      MakeOneCall({{"XNNMaxPooling2d", {0}, {1}}, {"XNNClamp", {1}, {2}}, {"XNNAdd*", {2, 0}, {3}}}, 3);
  const ModelGraph graph = MakeTimedGraph(builder, {{{0, {"Max Pooling #1", "Add #1", "Clamp #1"}}}});
  EXPECT_THAT(FindNode(graph, "0/node/0").times.at(0).operators, SizeIs(1));
  const ModelNode& clamp = FindNode(graph, "0/node/1");
  EXPECT_TRUE(clamp.times.empty());
  EXPECT_EQ(graph.nodes[clamp.fused_into.at(0)].id, "forward/0/node/0");
  EXPECT_THAT(FindNode(graph, "0/node/2").times.at(0).operators, SizeIs(2));
}

TEST(ModelGraph, AddsTimesOfAmbiguousNodes) {
  const MethodBuilder builder =
      MakeOneCall({{"XNNStaticReshape", {0}, {1}}, {"XNNStaticReshape", {1}, {2}}, {"XNNAbs", {2}, {3}}}, 3);
  const ModelGraph graph = MakeTimedGraph(builder, {{{0, {"Static Reshape #1", "Abs #1"}}}});
  EXPECT_THAT(FindNode(graph, "0/node/0").times.at(0).operators, SizeIs(1));
  EXPECT_EQ(graph.nodes[FindNode(graph, "0/node/1").may_be_fused_into.at(0)].id, "forward/0/node/0");
  EXPECT_TRUE(FindNode(graph, "0/node/1").fused_into.empty());
}

TEST(ModelGraph, AddsNodesForInsertedOperators) {
  const MethodBuilder builder =
      MakeOneCall({{"XNNAbs", {0}, {1}}, {"XNNFullyConnected", {1, 1000}, {2}}, {"XNNSoftmax", {2}, {3}}}, 3);
  const std::vector<ExecutedInstruction> off = {{0, {"Abs #1", "Fully Connected #1", "Softmax #1"}}};
  const std::vector<ExecutedInstruction> on = {
      {0, {"Abs #1", "Pack LH #1", "Fully Connected #1", "RoPE #1", "Softmax #1"}}};
  const ModelGraph graph = MakeTimedGraph(builder, {off, on, on});
  ASSERT_THAT(graph.nodes, SizeIs(2 + 3 + 2));  // both experiments share the same extra nodes
  const ModelNode& packing = FindNode(graph, "0/inserted/Pack LH before forward/0/node/1");
  EXPECT_EQ(packing.kind, Kind::kInserted);
  EXPECT_THAT(packing.group, ElementsAre("XnnpackBackend at instruction 0"));
  EXPECT_FALSE(packing.times.contains(0));
  EXPECT_TRUE(packing.times.contains(1));
  EXPECT_TRUE(packing.times.contains(2));
  const ModelNode& other = FindNode(graph, "0/unplaced/RoPE alone");
  EXPECT_EQ(other.kind, Kind::kUnplaced);
  EXPECT_THAT(other.edges, IsEmpty());
  EXPECT_THAT(
      ListGraphEdges(graph),
      UnorderedElementsAre("input/0 > 0/node/0", "0/node/0 > 0/node/1", "0/node/1 > 0/node/2",
                           "0/node/2 > output/0", "0/node/0 > 0/inserted/Pack LH before forward/0/node/1",
                           "0/inserted/Pack LH before forward/0/node/1 > 0/node/1"));
}

TEST(ModelGraph, AddsNodesForRepeatedInsertions) {
  const MethodBuilder builder = MakeOneCall(
      {{"XNNStaticResizeBilinear2D", {0}, {1}}, {"XNNAbs", {1}, {2}}, {"XNNMultiply", {2, 1}, {3}}}, 3);
  const ModelGraph graph = MakeTimedGraph(
      builder,
      {{{0, {"Convert #1", "Convert #2", "Resize Bilinear #1", "Abs #1", "Convert #3", "Multiply #1"}}}});
  std::vector<std::string> inserted;
  for (const ModelNode& node : graph.nodes) {
    if (node.kind == Kind::kInserted) inserted.push_back(node.id);
  }
  EXPECT_THAT(inserted, SizeIs(3));
}

TEST(ModelGraph, SumsThePassesOfALoop) {
  MethodBuilder builder(4);
  builder.Kernel("aten::abs.out", {0, 1}).Kernel("aten::sin.out", {1, 2}).CallOtherBackend({2, 3});
  const ModelGraph graph = MakeTimedGraph(builder, {{{0, {"native_call_abs.out"}},
                                                     {1, {"native_call_sin.out"}},
                                                     {0, {"native_call_abs.out"}},
                                                     {2, {"something", "and more"}}}});
  EXPECT_THAT(FindNode(graph, "0/kernel").times.at(0).operators, SizeIs(2));
  EXPECT_THAT(FindNode(graph, "2/delegate").times.at(0).operators, SizeIs(2));
}

TEST(ModelGraph, IgnoresTimesOfAnotherProgram) {
  const MethodBuilder builder = MakeOneCall({{"XNNAbs", {0}, {1}}}, 1);
  const Report report = MakeReport(builder, {{{0, {"native_call_sum.out"}}}});
  ModelGraph graph = BuildModelGraph(builder.method, builder.program, nullptr, false);
  AddTimes(report, 0, builder.method, graph);
  EXPECT_THAT(graph.experiments, IsEmpty());
}

TEST(ModelGraph, RefusesHugeGraphs) {
  std::vector<handmade::Node> nodes;
  for (std::uint32_t i = 0; i < 2000; ++i) nodes.push_back({"XNNAbs", {i == 0 ? 0 : i + 1}, {i + 2}});
  MethodBuilder builder = MakeOneCall(nodes, 2001);
  for (int i = 1; i < 600; ++i) {
    builder.method.instructions.push_back(builder.method.instructions.front());
    builder.method.instructions.back().index = i;
  }
  try {
    BuildModelGraph(builder.method, builder.program, nullptr, false);
    FAIL() << "it has 1.2 million nodes";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    ExpectGolden("report/huge_model_graph", error.Message() + "\n");
  }
}

}  // namespace
}  // namespace etprof
