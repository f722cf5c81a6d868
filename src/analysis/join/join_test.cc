#include "analysis/join/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/join/align_nodes.h"
#include "etdump/testing.h"

namespace etprof {
namespace {

using handmade::TraceBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Join = OperatorSource::Join;

// A graph that is a chain: node i reads value i and writes value i + 1, each 10 floats. A type that ends with
// '*' is bounded; one that begins with '-' has no debug handle; the others' handles are their index + 1.
XnnGraph Chain(const std::vector<std::string>& types) {
  XnnGraph graph;
  for (std::uint32_t id = 0; id <= types.size(); ++id) {
    XnnValue value;
    value.id = id;
    value.type = {"fp32", 32};
    value.shape = {10};
    graph.by_id[id] = graph.values.size();
    graph.values.push_back(value);
    graph.uses[id] = 1;
  }
  for (std::uint32_t i = 0; i < types.size(); ++i) {
    XnnNode node;
    node.index = i;
    node.type = types[i];
    node.macs = 0;
    if (node.type.front() == '-') {
      node.type.erase(0, 1);
    } else {
      node.debug_handle = i + 1;
    }
    if (node.type.back() == '*') {
      node.type.pop_back();
      node.output_min = 0;
    }
    node.inputs = {i};
    node.outputs = {i + 1};
    graph.nodes.push_back(node);
  }
  return graph;
}

// What each operator was joined to: "1", "1+2" with what is fused into it, "inserted", "none", "1|2"
// ambiguous.
std::vector<std::string> Aligned(const std::vector<std::string>& types,
                                 const std::vector<std::string>& stems) {
  std::vector<std::string> result;
  const Alignment alignment = AlignNodes(Chain(types), stems).value();
  for (const AlignedOperator& op : alignment.operators) {
    if (op.inserted || !op.node) {
      result.emplace_back(op.inserted ? "inserted" : "none");
      continue;
    }
    std::string text;
    for (const std::size_t node : op.candidates) text += (text.empty() ? "" : "|") + std::to_string(node);
    for (const std::size_t node : op.fused) text += "+" + std::to_string(node);
    result.push_back(text);
  }
  return result;
}

// The cases are what ExecuTorch 1.5.1 was seen to do.
TEST(AlignNodes, OneOperatorANode) {
  EXPECT_THAT(Aligned({"-XNNStaticTranspose", "XNNConv2d", "XNNGlobalAvgPooling2d", "XNNFullyConnected"},
                      {"Transpose", "Fully Connected", "Mean", "Fully Connected"}),
              ElementsAre("0", "1", "2", "3"));
}

TEST(AlignNodes, ClampsThatAreFused) {
  EXPECT_THAT(Aligned({"XNNMaxPooling2d", "XNNClamp", "-XNNStaticTranspose"}, {"Max Pooling", "Transpose"}),
              ElementsAre("0+1", "2"));
  // Of two clamps in a row one is left; which of them is not known.
  EXPECT_THAT(Aligned({"XNNAdd", "XNNClamp", "XNNClamp", "XNNDiv"}, {"Add", "Clamp", "Divide"}),
              ElementsAre("0", "1|2+2", "3"));
}

TEST(AlignNodes, ABoundedNodeRunsAsTwo) {
  EXPECT_THAT(Aligned({"XNNAdd*", "XNNMultiply"}, {"Add", "Clamp", "Multiply"}), ElementsAre("0", "0", "1"));
  EXPECT_THAT(Aligned({"XNNConv2d*", "XNNMultiply"}, {"Convolution", "Multiply"}), ElementsAre("0", "1"));
}

TEST(AlignNodes, AnElementwiseNodeBetweenConversionsIsOneTable) {
  EXPECT_THAT(Aligned({"XNNFullyConnected", "XNNConvert", "XNNGelu", "XNNConvert", "XNNFullyConnected"},
                      {"Fully Connected", "Invalid Unary Op", "Fully Connected"}),
              ElementsAre("0", "2+1+3", "4"));
}

TEST(AlignNodes, WhatXnnpackInserts) {
  EXPECT_THAT(Aligned({"XNNFullyConnected", "XNNSoftmax"}, {"Pack LH", "Fully Connected", "Softmax"}),
              ElementsAre("inserted", "0", "1"));
  EXPECT_THAT(Aligned({"XNNStaticResizeBilinear2D"}, {"Convert", "Resize Bilinear", "Convert"}),
              ElementsAre("inserted", "0", "inserted"));
}

TEST(AlignNodes, WhatDoesNotFitIsNotJoined) {
  EXPECT_THAT(Aligned({"XNNAdd", "XNNSoftmax"}, {"Add", "RoPE", "Softmax"}), ElementsAre("0", "none", "1"));
  EXPECT_THAT(Aligned({}, {"Add"}), ElementsAre("none"));
  EXPECT_THAT(Aligned({"XNNAdd"}, {}), IsEmpty());
  // Either of two equal neighbors may be the one that is missing.
  EXPECT_THAT(Aligned({"XNNAbs", "XNNAbs"}, {"Abs"}), ElementsAre("0|1"));
}

// forward: a kernel (aten::mean.out), then a delegate of `graph`.
Program ProgramOf(XnnGraph graph) {
  Program program;
  program.xnn_graphs.push_back(std::move(graph));
  Method method;
  method.name = "forward";
  method.operators = {"aten::mean.out"};
  for (int i = 0; i < 2; ++i) {
    ProgramValue value;
    value.kind = ProgramValue::Kind::kTensor;
    value.tensor.emplace();
    value.tensor->type = {"float32", 32};
    value.tensor->shape = {i == 0 ? 100 : 1};
    method.values.push_back(value);
  }
  method.instructions.push_back({Instruction::Kind::kKernel, 0, 0, 0, {0, 1}});
  method.instructions.push_back({Instruction::Kind::kDelegate, 0, 1, 0, {}});
  Delegate delegate;
  delegate.backend = "XnnpackBackend";
  delegate.graph = 0;
  method.delegates.push_back(delegate);
  program.methods.push_back(std::move(method));
  return program;
}

Profile ProfileOf(const std::vector<std::string>& backend,
                  const std::string& kernel = "native_call_mean.out") {
  TraceBuilder builder;
  for (int run = 0; run < 4; ++run) {
    const Nanoseconds at = run * 10000;
    builder.Block("Execute");
    builder.Framework(0, kernel, at + 10, at + 20).Framework(0, "OPERATOR_CALL", at + 5, at + 25);
    Nanoseconds now = at + 40;
    for (const std::string& name : backend) {
      builder.Backend(1, name, now, now + 10);
      now += 10;
    }
    builder.Framework(1, "DELEGATE_CALL", at + 35, now + 5).Framework(0, "Method::execute", at, now + 10);
  }
  const Trace trace = builder.Take();
  return Attribute(trace, {});
}

// Node i of the chain, with handle i + 1, is in module "layer.<i>"; the kernel in "head".
MethodSources Sources(std::size_t nodes) {
  MethodSources sources;
  const auto add = [&](std::uint32_t handle, const std::string& path, int line) {
    sources.handles[handle].push_back(sources.nodes.size());
    sources.nodes.push_back({"n", "t", {{"", "Net"}, {path, "Layer"}}, {{"model.py", line, "forward", ""}}});
  };
  for (std::uint32_t i = 0; i < nodes; ++i)
    add(i + 1, "layer." + std::to_string(i), static_cast<int>(10 + i));
  add(99, "head", 5);
  sources.instructions[0] = {99};
  return sources;
}

const OperatorSource& SourceOf(const Profile& profile, const ProgramJoin& join, const std::string& name) {
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    if (profile.operators[i].name == name) return join.operators[i];
  }
  throw std::runtime_error("no operator " + name);
}

std::string PathOf(const Profile& profile, const ProgramJoin& join, const std::string& name) {
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    if (profile.operators[i].name == name) return ModulePath(join, i).value_or("(none)");
  }
  return "(no such operator)";
}

TEST(JoinProgram, OperatorsGetTheirModuleAndLine) {
  const Program program =
      ProgramOf(Chain({"-XNNStaticTranspose", "XNNConv2d", "XNNAdd*", "-XNNStaticTranspose"}));
  const Profile profile =
      ProfileOf({"Transpose (ND, X32) #1", "Pack LH (NC, X32) #1", "Convolution (NHWC, PF32) IGEMM #1",
                 "Add (ND) #1", "Clamp (NC) #1", "Transpose (ND, X32) #2"});
  const MethodSources sources = Sources(4);
  const ProgramJoin join = JoinProgram(profile, program, program.methods[0], &sources);
  EXPECT_EQ(join.problem, "");
  EXPECT_EQ(PathOf(profile, join, "native_call_mean.out"), "head");
  EXPECT_EQ(PathOf(profile, join, "Convolution (NHWC, PF32) IGEMM #1"), "layer.1");
  EXPECT_EQ(PathOf(profile, join, "Add (ND) #1"), "layer.2");
  EXPECT_EQ(PathOf(profile, join, "Clamp (NC) #1"), "layer.2");
  // What is in between belongs to the layer that needs it, at the end to the one before.
  EXPECT_EQ(PathOf(profile, join, "Transpose (ND, X32) #1"), "layer.1");
  EXPECT_EQ(PathOf(profile, join, "Transpose (ND, X32) #2"), "layer.2");
  EXPECT_TRUE(SourceOf(profile, join, "Transpose (ND, X32) #1").between);
  EXPECT_EQ(PathOf(profile, join, "Pack LH (NC, X32) #1"), "layer.1");
  EXPECT_EQ(SourceOf(profile, join, "Pack LH (NC, X32) #1").join, Join::kInserted);
  const OperatorSource& conv = SourceOf(profile, join, "Convolution (NHWC, PF32) IGEMM #1");
  EXPECT_EQ(conv.join, Join::kNodes);
  EXPECT_THAT(conv.nodes, ElementsAre(1));
  EXPECT_EQ(join.places[*conv.place].frame->line, 11);
  EXPECT_EQ(SourceOf(profile, join, "DELEGATE_CALL").join, Join::kFramework);
  // 10 floats in and out; the mean reads 100 and writes 1.
  EXPECT_EQ(conv.work.bytes, 80);
  EXPECT_EQ(SourceOf(profile, join, "native_call_mean.out").work.read, 400);
  EXPECT_EQ(SourceOf(profile, join, "native_call_mean.out").work.written, 4);
}

TEST(JoinProgram, FusedNodesMoveNothingBetweenThem) {
  const Program program = ProgramOf(Chain({"XNNMaxPooling2d", "XNNClamp"}));
  const Profile profile = ProfileOf({"Max Pooling (NHWC, F32) #1"});
  const ProgramJoin join = JoinProgram(profile, program, program.methods[0], nullptr);
  const OperatorSource& pool = SourceOf(profile, join, "Max Pooling (NHWC, F32) #1");
  EXPECT_THAT(pool.nodes, ElementsAre(0, 1));
  EXPECT_EQ(pool.work.bytes, 80);
  EXPECT_NE(join.no_sources, "");
  EXPECT_FALSE(pool.place.has_value());
}

TEST(JoinProgram, WhatFitsTwiceIsNotJoined) {
  const Program program = ProgramOf(Chain({"XNNAbs", "XNNAbs"}));
  const Profile profile = ProfileOf({"Abs (NC) #1"});
  const MethodSources sources = Sources(2);
  const ProgramJoin join = JoinProgram(profile, program, program.methods[0], &sources);
  const OperatorSource& abs = SourceOf(profile, join, "Abs (NC) #1");
  EXPECT_EQ(abs.join, Join::kNone);
  EXPECT_THAT(abs.why, HasSubstr("equally well"));
  EXPECT_FALSE(abs.place.has_value());
}

// As etprof-runner writes it: a call of OpenVINO at instruction 0, with a layer of each node.
Profile ProfileOfLayers(const std::vector<std::string>& nodes) {
  TraceBuilder builder;
  builder.Block("Execute");
  Nanoseconds now = 10;
  for (const std::string& node : nodes)
    builder.Backend(0, "Convolution: " + node + " (ref)", now, now + 10), now += 10;
  builder.Framework(0, "DELEGATE_CALL", 5, now + 5).Framework(0, "Method::execute", 0, now + 10);
  return Attribute(builder.Take(), {});
}

TEST(JoinProgram, LayersOfOpenvinoGetTheModuleOfTheNodeTheyAreNamedBy) {
  const std::vector<std::string> nodes = {"aten_convolution_default", "aten_convolution_default_1",
                                          "Multiply_7"};
  const Profile profile = ProfileOfLayers(nodes);
  Program program = ProgramOf(Chain({}));
  Method& method = program.methods[0];
  method.delegates[0] = {};
  method.delegates[0].backend = "OpenvinoBackend";
  const Instruction kernel = method.instructions[0];
  method.instructions = {{Instruction::Kind::kDelegate, 0, 0, 0, {}}};
  MethodSources sources = Sources(2);
  sources.nodes[0].name = nodes[0];
  sources.nodes[1].name = nodes[1];
  const auto paths = [&] {
    const ProgramJoin join = JoinProgram(profile, program, method, &sources);
    EXPECT_EQ(join.problem, "");
    std::vector<std::string> found;
    for (const std::string& node : nodes)
      found.push_back(PathOf(profile, join, "Convolution: " + node + " (ref)"));
    return found;
  };
  EXPECT_THAT(paths(), ElementsAre("layer.0", "layer.1", "(none)"));
  // Two nodes of that name.
  sources.nodes[2].name = nodes[1];
  EXPECT_THAT(paths(), ElementsAre("layer.0", "(none)", "(none)"));
  // A pass of the backend replaces that operator by others, which take numbers.
  sources.nodes[2] = {"aten_div_tensor_mode", "aten.div.Tensor_mode", {}, {}};
  EXPECT_THAT(paths(), ElementsAre("(none)", "(none)", "(none)"));
  // A part of the program, whose nodes are numbered anew.
  sources.nodes.pop_back();
  method.instructions.push_back(kernel);
  method.instructions.back().index = 1;
  EXPECT_THAT(paths(), ElementsAre("(none)", "(none)", "(none)"));
}

TEST(JoinProgram, TheWorkOfShapesThatChangeIsNotKnown) {
  Program program = ProgramOf(Chain({"XNNAdd"}));
  const Profile profile = ProfileOf({"Add (ND) #1"});
  const auto known = [&] {
    const ProgramJoin join = JoinProgram(profile, program, program.methods[0], nullptr);
    std::vector<bool> of;
    for (const char* name : {"native_call_mean.out", "Add (ND) #1"}) {
      const OperatorSource& source = SourceOf(profile, join, name);
      of.push_back(source.work.bytes.has_value());
      EXPECT_EQ(source.tensors.shapes == ProgramTensor::Shape::kStatic, of.back()) << name;
    }
    return of;
  };
  EXPECT_THAT(known(), ElementsAre(true, true));
  Method& method = program.methods[0];
  method.values[0].tensor->dynamism = ProgramTensor::Shape::kBounded;
  EXPECT_THAT(known(), ElementsAre(false, true));
  method.instructions[1].arguments = {0};
  EXPECT_THAT(known(), ElementsAre(false, false));
}

TEST(JoinProgram, AnotherProgramIsNotJoined) {
  const Program program = ProgramOf(Chain({"XNNAdd"}));
  const Profile another_kernel = ProfileOf({"Add (ND) #1"}, "native_call_sum.out");
  const ProgramJoin join = JoinProgram(another_kernel, program, program.methods[0], nullptr);
  EXPECT_THAT(join.problem, HasSubstr("native_call_sum.out"));
  EXPECT_THAT(
      JoinProgram(ProfileOf({"Add (ND) #1"}, "native_call_mean.out"), program, program.methods[0], nullptr)
          .problem,
      "");
  EXPECT_THAT(
      JoinProgram(ProfileOf({"Add (ND) #1"}, "aten::mean.out"), program, program.methods[0], nullptr).problem,
      "");
  for (const OperatorSource& source : join.operators) EXPECT_EQ(source.join, Join::kNone);
  Profile another_delegate = ProfileOf({"Add (ND) #1"});
  another_delegate.operators[2].backend = "VulkanBackend";
  EXPECT_THAT(JoinProgram(another_delegate, program, program.methods[0], nullptr).problem,
              HasSubstr("VulkanBackend wrote the events of instruction 1, which calls XnnpackBackend"));
}

}  // namespace
}  // namespace etprof
