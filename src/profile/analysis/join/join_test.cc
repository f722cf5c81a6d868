#include "profile/analysis/join/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/golden_testing.h"
#include "format/etdump/testing.h"
#include "profile/analysis/join/align_nodes.h"

namespace etprof {
namespace {

using handmade::TraceBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Join = OperatorSource::Join;

// A chain: node i reads value i and writes value i + 1, each 10 floats. A type with a trailing '*' is
// bounded. A type with a leading '-' has no debug handle; the handles of all others are their index + 1.
XnnGraph MakeChain(const std::vector<std::string>& types) {
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

// The nodes of each operator: "1", "1+2" with fused nodes, "inserted", "none", "1|2" if ambiguous.
std::vector<std::string> AlignmentTexts(const std::vector<std::string>& types,
                                        const std::vector<std::string>& stems) {
  std::vector<std::string> result;
  const Alignment alignment = AlignNodes(MakeChain(types), stems).value();
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

// These cases were observed with ExecuTorch 1.5.1.
TEST(AlignNodes, AlignsOneOperatorPerNode) {
  EXPECT_THAT(
      AlignmentTexts({"-XNNStaticTranspose", "XNNConv2d", "XNNGlobalAvgPooling2d", "XNNFullyConnected"},
                     {"Transpose", "Fully Connected", "Mean", "Fully Connected"}),
      ElementsAre("0", "1", "2", "3"));
}

TEST(AlignNodes, AlignsFusedClamps) {
  EXPECT_THAT(
      AlignmentTexts({"XNNMaxPooling2d", "XNNClamp", "-XNNStaticTranspose"}, {"Max Pooling", "Transpose"}),
      ElementsAre("0+1", "2"));
  // Only one of two consecutive clamps runs; it is not known which.
  EXPECT_THAT(AlignmentTexts({"XNNAdd", "XNNClamp", "XNNClamp", "XNNDiv"}, {"Add", "Clamp", "Divide"}),
              ElementsAre("0", "1|2+2", "3"));
}

TEST(AlignNodes, AlignsABoundedNodeWithTwoOperators) {
  EXPECT_THAT(AlignmentTexts({"XNNAdd*", "XNNMultiply"}, {"Add", "Clamp", "Multiply"}),
              ElementsAre("0", "0", "1"));
  EXPECT_THAT(AlignmentTexts({"XNNConv2d*", "XNNMultiply"}, {"Convolution", "Multiply"}),
              ElementsAre("0", "1"));
}

TEST(AlignNodes, FusesConversionsAroundAnElementwiseNode) {
  EXPECT_THAT(
      AlignmentTexts({"XNNFullyConnected", "XNNConvert", "XNNGelu", "XNNConvert", "XNNFullyConnected"},
                     {"Fully Connected", "Invalid Unary Op", "Fully Connected"}),
      ElementsAre("0", "2+1+3", "4"));
}

TEST(AlignNodes, MarksInsertedOperators) {
  EXPECT_THAT(AlignmentTexts({"XNNFullyConnected", "XNNSoftmax"}, {"Pack LH", "Fully Connected", "Softmax"}),
              ElementsAre("inserted", "0", "1"));
  EXPECT_THAT(AlignmentTexts({"XNNStaticResizeBilinear2D"}, {"Convert", "Resize Bilinear", "Convert"}),
              ElementsAre("inserted", "0", "inserted"));
}

TEST(AlignNodes, LeavesUnknownOperatorsWithoutANode) {
  EXPECT_THAT(AlignmentTexts({"XNNAdd", "XNNSoftmax"}, {"Add", "RoPE", "Softmax"}),
              ElementsAre("0", "none", "1"));
  EXPECT_THAT(AlignmentTexts({}, {"Add"}), ElementsAre("none"));
  EXPECT_THAT(AlignmentTexts({"XNNAdd"}, {}), IsEmpty());
  // Either of two equal neighbors may be missing.
  EXPECT_THAT(AlignmentTexts({"XNNAbs", "XNNAbs"}, {"Abs"}), ElementsAre("0|1"));
}

// A method "forward" with a kernel (aten::mean.out) and a delegate of `graph`.
Program MakeProgram(XnnGraph graph) {
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

Profile MakeDelegateProfile(const std::vector<std::string>& backend,
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

// Sources in which node i of the chain, with handle i + 1, is in module "layer.<i>", and the kernel in
// "head".
MethodSources MakeSources(std::size_t nodes) {
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

const OperatorSource& FindSource(const Profile& profile, const ProgramJoin& join, const std::string& name) {
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    if (profile.operators[i].name == name) return join.operators[i];
  }
  throw std::runtime_error("no operator " + name);
}

std::string FindModulePath(const Profile& profile, const ProgramJoin& join, const std::string& name) {
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    if (profile.operators[i].name == name) return ModulePath(join, i).value_or("(none)");
  }
  return "(no such operator)";
}

TEST(JoinProgram, FindsModuleAndLineOfOperators) {
  const Program program =
      MakeProgram(MakeChain({"-XNNStaticTranspose", "XNNConv2d", "XNNAdd*", "-XNNStaticTranspose"}));
  const Profile profile = MakeDelegateProfile({"Transpose (ND, X32) #1", "Pack LH (NC, X32) #1",
                                               "Convolution (NHWC, PF32) IGEMM #1", "Add (ND) #1",
                                               "Clamp (NC) #1", "Transpose (ND, X32) #2"});
  const MethodSources sources = MakeSources(4);
  const ProgramJoin join = JoinProgram(profile, program, program.methods[0], &sources);
  EXPECT_EQ(join.problem, "");
  EXPECT_EQ(FindModulePath(profile, join, "native_call_mean.out"), "head");
  EXPECT_EQ(FindModulePath(profile, join, "Convolution (NHWC, PF32) IGEMM #1"), "layer.1");
  EXPECT_EQ(FindModulePath(profile, join, "Add (ND) #1"), "layer.2");
  EXPECT_EQ(FindModulePath(profile, join, "Clamp (NC) #1"), "layer.2");
  // Inserted operators belong to the next layer, or to the previous layer at the end.
  EXPECT_EQ(FindModulePath(profile, join, "Transpose (ND, X32) #1"), "layer.1");
  EXPECT_EQ(FindModulePath(profile, join, "Transpose (ND, X32) #2"), "layer.2");
  EXPECT_TRUE(FindSource(profile, join, "Transpose (ND, X32) #1").is_partitioner_conversion);
  EXPECT_EQ(FindModulePath(profile, join, "Pack LH (NC, X32) #1"), "layer.1");
  EXPECT_EQ(FindSource(profile, join, "Pack LH (NC, X32) #1").join, Join::kInserted);
  const OperatorSource& conv = FindSource(profile, join, "Convolution (NHWC, PF32) IGEMM #1");
  EXPECT_EQ(conv.join, Join::kNodes);
  EXPECT_THAT(conv.nodes, ElementsAre(1));
  EXPECT_EQ(join.places[*conv.place].frame->line, 11);
  EXPECT_EQ(FindSource(profile, join, "DELEGATE_CALL").join, Join::kFramework);
  // 10 floats in and out; the mean reads 100 and writes 1.
  EXPECT_EQ(conv.work.bytes, 80);
  EXPECT_EQ(FindSource(profile, join, "native_call_mean.out").work.read, 400);
  EXPECT_EQ(FindSource(profile, join, "native_call_mean.out").work.written, 4);
}

TEST(JoinProgram, FusedNodesExchangeNoBytes) {
  const Program program = MakeProgram(MakeChain({"XNNMaxPooling2d", "XNNClamp"}));
  const Profile profile = MakeDelegateProfile({"Max Pooling (NHWC, F32) #1"});
  const ProgramJoin join = JoinProgram(profile, program, program.methods[0], nullptr);
  const OperatorSource& pool = FindSource(profile, join, "Max Pooling (NHWC, F32) #1");
  EXPECT_THAT(pool.nodes, ElementsAre(0, 1));
  EXPECT_EQ(pool.work.bytes, 80);
  EXPECT_NE(join.no_sources_reason, "");
  EXPECT_FALSE(pool.place.has_value());
}

TEST(JoinProgram, DoesNotJoinAmbiguousOperators) {
  const Program program = MakeProgram(MakeChain({"XNNAbs", "XNNAbs"}));
  const Profile profile = MakeDelegateProfile({"Abs (NC) #1"});
  const MethodSources sources = MakeSources(2);
  const ProgramJoin join = JoinProgram(profile, program, program.methods[0], &sources);
  const OperatorSource& abs = FindSource(profile, join, "Abs (NC) #1");
  EXPECT_EQ(abs.join, Join::kNone);
  ExpectGolden("profile/join_of_ambiguous_operator", abs.reason + "\n");
  EXPECT_FALSE(abs.place.has_value());
}

TEST(NameUnloggedKernels, DescribesTheCategoriesOfTheNames) {
  TraceBuilder builder;
  builder.Block("Execute").Framework(0, "OPERATOR_CALL", 1, 8).Framework(-1, "Method::execute", 0, 10);
  Profile profile = Attribute(builder.Take(), {});
  Method method;
  method.operators = {"aten::permute_copy.out"};
  Instruction& kernel = method.instructions.emplace_back();
  kernel.kind = Instruction::Kind::kKernel;
  kernel.index = 0;
  kernel.target = 0;
  NameUnloggedKernels(method, profile);
  const Breakdown categories = ByCategory(profile);
  const auto renamed = std::ranges::find(
      categories.rows, std::string(Categorize("aten::permute_copy.out").name), &AdditiveRow::name);
  ASSERT_NE(renamed, categories.rows.end());
  EXPECT_EQ(renamed->self->p50, 7);
  EXPECT_EQ(profile.groups[static_cast<std::size_t>(OperatorGroup::kDataMovement)].p50, 7);
}

// A trace as etprof-runner writes it: an OpenVINO call at instruction 0 with one layer per node.
Profile MakeLayerProfile(const std::vector<std::string>& nodes) {
  TraceBuilder builder;
  builder.Block("Execute");
  Nanoseconds now = 10;
  for (const std::string& node : nodes)
    builder.Backend(0, "Convolution: " + node + " (ref)", now, now + 10), now += 10;
  builder.Framework(0, "DELEGATE_CALL", 5, now + 5).Framework(0, "Method::execute", 0, now + 10);
  return Attribute(builder.Take(), {});
}

TEST(JoinProgram, FindsModulesOfOpenvinoLayersByNodeName) {
  const std::vector<std::string> nodes = {"aten_convolution_default", "aten_convolution_default_1",
                                          "Multiply_7"};
  const Profile profile = MakeLayerProfile(nodes);
  Program program = MakeProgram(MakeChain({}));
  Method& method = program.methods[0];
  method.delegates[0] = {};
  method.delegates[0].backend = "OpenvinoBackend";
  const Instruction kernel = method.instructions[0];
  method.instructions = {{Instruction::Kind::kDelegate, 0, 0, 0, {}}};
  MethodSources sources = MakeSources(2);
  sources.nodes[0].name = nodes[0];
  sources.nodes[1].name = nodes[1];
  const auto paths = [&] {
    const ProgramJoin join = JoinProgram(profile, program, method, &sources);
    EXPECT_EQ(join.problem, "");
    std::vector<std::string> module_paths;
    for (const std::string& node : nodes)
      module_paths.push_back(FindModulePath(profile, join, "Convolution: " + node + " (ref)"));
    return module_paths;
  };
  EXPECT_THAT(paths(), ElementsAre("layer.0", "layer.1", "(none)"));
  // Two nodes have the same name.
  sources.nodes[2].name = nodes[1];
  EXPECT_THAT(paths(), ElementsAre("layer.0", "(none)", "(none)"));
  // A pass of the backend replaces this operator by others, which shifts the numbers.
  sources.nodes[2] = {"aten_div_tensor_mode", "aten.div.Tensor_mode", {}, {}};
  EXPECT_THAT(paths(), ElementsAre("(none)", "(none)", "(none)"));
  // The delegate has only a part of the program, so its nodes are renumbered.
  sources.nodes.pop_back();
  method.instructions.push_back(kernel);
  method.instructions.back().index = 1;
  EXPECT_THAT(paths(), ElementsAre("(none)", "(none)", "(none)"));
}

TEST(JoinProgram, WorkOfDynamicShapesIsUnknown) {
  Program program = MakeProgram(MakeChain({"XNNAdd"}));
  const Profile profile = MakeDelegateProfile({"Add (ND) #1"});
  const auto find_known_work = [&] {
    const ProgramJoin join = JoinProgram(profile, program, program.methods[0], nullptr);
    std::vector<bool> have_work;
    for (const char* name : {"native_call_mean.out", "Add (ND) #1"}) {
      const OperatorSource& source = FindSource(profile, join, name);
      have_work.push_back(source.work.bytes.has_value());
      EXPECT_EQ(source.tensors.shapes == ProgramTensor::Shape::kStatic, have_work.back()) << name;
    }
    return have_work;
  };
  EXPECT_THAT(find_known_work(), ElementsAre(true, true));
  Method& method = program.methods[0];
  method.values[0].tensor->dynamism = ProgramTensor::Shape::kBounded;
  EXPECT_THAT(find_known_work(), ElementsAre(false, true));
  method.instructions[1].arguments = {0};
  EXPECT_THAT(find_known_work(), ElementsAre(false, false));
}

TEST(JoinProgram, RejectsAnotherProgram) {
  const Program program = MakeProgram(MakeChain({"XNNAdd"}));
  const Profile another_kernel = MakeDelegateProfile({"Add (ND) #1"}, "native_call_sum.out");
  const ProgramJoin join = JoinProgram(another_kernel, program, program.methods[0], nullptr);
  EXPECT_THAT(JoinProgram(MakeDelegateProfile({"Add (ND) #1"}, "native_call_mean.out"), program,
                          program.methods[0], nullptr)
                  .problem,
              "");
  EXPECT_THAT(JoinProgram(MakeDelegateProfile({"Add (ND) #1"}, "aten::mean.out"), program, program.methods[0],
                          nullptr)
                  .problem,
              "");
  for (const OperatorSource& source : join.operators) EXPECT_EQ(source.join, Join::kNone);
  Profile another_delegate = MakeDelegateProfile({"Add (ND) #1"});
  another_delegate.operators[2].backend = "VulkanBackend";
  const ProgramJoin delegate_join = JoinProgram(another_delegate, program, program.methods[0], nullptr);
  const Profile quantized = MakeDelegateProfile({"Add (ND, QS8) #1"});
  const ProgramJoin type_join = JoinProgram(quantized, program, program.methods[0], nullptr);
  ExpectGoldenMessages("profile/join_with_another_program", {{"another kernel", join.problem},
                                                             {"another delegate", delegate_join.problem},
                                                             {"another data type", type_join.problem}});
  Program quantized_program = program;
  quantized_program.xnn_graphs[0].values[0].quantization = XnnQuantization{};
  EXPECT_EQ(JoinProgram(quantized, quantized_program, quantized_program.methods[0], nullptr).problem, "");
}

}  // namespace
}  // namespace etprof
