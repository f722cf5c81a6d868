#include "format/program/xnn/memory_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etprof {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A method with planned float tensors of these numbers of elements, each at a separate place.
Method MakePlannedMethod(const std::vector<std::int64_t>& elements) {
  Method method;
  std::uint64_t offset = 0;
  for (const std::int64_t count : elements) {
    ProgramValue& value = method.values.emplace_back();
    value.kind = ProgramValue::Kind::kTensor;
    value.tensor.emplace();
    value.tensor->type = {"float32", 32};
    value.tensor->shape = {count};
    value.tensor->memory_id = 1;
    value.tensor->memory_offset = offset;
    offset += 4 * static_cast<std::uint64_t>(count);
  }
  method.operators = {"aten::x.out"};
  return method;
}

void AddCall(std::size_t from, std::size_t to, Method& method) {
  Instruction& kernel = method.instructions.emplace_back();
  kernel.kind = Instruction::Kind::kKernel;
  kernel.index = static_cast<int>(method.instructions.size()) - 1;
  kernel.arguments = {from, to};
}

std::vector<std::size_t> PeakValues(const PlannedPeak& peak) {
  std::vector<std::size_t> values;
  for (const PlannedTensor& tensor : peak.tensors) values.push_back(tensor.value);
  return values;
}

// A method that returns a constant.
Method ConstantMethod(const char* name, std::int64_t number) {
  Method method;
  method.name = name;
  method.values.emplace_back().kind = ProgramValue::Kind::kInt;
  method.values.back().integer = number;
  method.outputs = {0};
  return method;
}

std::optional<MethodState> FindMethodState(const Method& method, const Program& program) {
  return etprof::FindMethodState(PlannedTensors(method, program), method, program);
}

TEST(MethodState, ConsistsOfTensorsReadBeforeTheyAreWritten) {
  // The first call reads value 0 and writes 1. The second call reads 1 and 2, and writes 3.
  Method method = MakePlannedMethod({10, 50, 64, 20});
  AddCall(0, 1, method);
  AddCall(1, 3, method);
  method.instructions[1].arguments = {1, 2, 3};
  method.inputs = {0};
  method.outputs = {3};
  Program program;
  MethodState state = FindMethodState(method, program).value();
  EXPECT_EQ(state.tensors, 1);
  EXPECT_EQ(state.bytes, 4 * 64);
  EXPECT_FALSE(state.BytesPerToken());
  for (const PlannedTensor& tensor : PlannedTensors(method, program))
    EXPECT_EQ(tensor.is_state, tensor.value == 2);
  // The tokens are those of the longest context if the tensors have that size, otherwise those of the
  // sequence.
  program.methods = {ConstantMethod("get_max_seq_len", 8), ConstantMethod("get_max_context_len", 32)};
  method.values[2].tensor->shape = {2, 32};
  EXPECT_EQ(FindMethodState(method, program)->tokens, 32);
  EXPECT_EQ(FindMethodState(method, program)->BytesPerToken(), 8);
  method.values[2].tensor->shape = {8, 8};
  EXPECT_EQ(FindMethodState(method, program)->tokens, 8);
  method.values[2].tensor->shape = {64};
  EXPECT_FALSE(FindMethodState(method, program)->tokens);
  program.methods = {ConstantMethod("get_max_seq_len", 0)};
  EXPECT_FALSE(FindMethodState(method, program)->tokens);
  program.methods[0].values[0].integer.reset();
  EXPECT_FALSE(FindMethodState(method, program)->tokens);
  // Inputs, and tensors that the method writes before it reads them, are not states.
  method.inputs = {0, 2};
  EXPECT_EQ(FindMethodState(method, program)->tensors, 0);
  method.inputs = {0};
  method.instructions[0].arguments = {0, 2};
  method.instructions[1].arguments = {2, 3};
  EXPECT_EQ(FindMethodState(method, program)->tensors, 0);
  // The state of a method that branches is unknown; a method without instructions has no state.
  method.instructions.push_back({Instruction::Kind::kJumpFalse, 0, 2, 0, {}});
  EXPECT_FALSE(FindMethodState(method, program));
  EXPECT_EQ(FindMethodState(ConstantMethod("get_max_seq_len", 8), program)->tensors, 0);
}

TEST(PlannedPeak, CountsAViewOnce) {
  // 0 -> 1, which 2 and 3 view, so that they share one place. 4 is computed from 3.
  Method method = MakePlannedMethod({10, 50, 50, 50, 20});
  method.operators.emplace_back("executorch_prim::et_view.default");
  AddCall(0, 1, method);
  AddCall(1, 2, method);
  AddCall(2, 3, method);
  AddCall(3, 4, method);
  method.instructions[1].target = method.instructions[2].target = 1;
  method.values[2].tensor->memory_offset = method.values[3].tensor->memory_offset =
      method.values[1].tensor->memory_offset;
  method.inputs = {0};
  method.outputs = {4};
  const PlannedPeak peak = FindPlannedPeak(PlannedTensors(method, {})).value();
  EXPECT_EQ(peak.bytes, 4 * (50 + 20));
  EXPECT_THAT(PeakValues(peak), ElementsAre(1, 4));
  EXPECT_EQ(peak.tensors[0].first, 0U);
  EXPECT_EQ(peak.tensors[0].last, 3U);
}

TEST(PlannedPeak, IsTheLargestSumInUseAtOnce) {
  // 0 -> 1 -> 2 -> 3: a chain in which two neighbors are in use at a time.
  Method method = MakePlannedMethod({10, 50, 60, 20});
  AddCall(0, 1, method);
  AddCall(1, 2, method);
  AddCall(2, 3, method);
  method.inputs = {0};
  method.outputs = {3};
  PlannedPeak peak = FindPlannedPeak(PlannedTensors(method, {})).value();
  EXPECT_EQ(peak.instruction, 1U);
  EXPECT_EQ(peak.bytes, 4 * (50 + 60));
  EXPECT_THAT(PeakValues(peak), ElementsAre(2, 1));
  EXPECT_EQ(peak.tensors[0].first, 1U);
  EXPECT_EQ(peak.tensors[0].last, 2U);
  EXPECT_EQ(peak.upper_bound, 0);
  // An input is in use from the start, an output until the end.
  method.inputs = {0, 3};
  method.values[1].tensor->dynamism = ProgramTensor::Shape::kBounded;
  peak = FindPlannedPeak(PlannedTensors(method, {})).value();
  EXPECT_EQ(peak.bytes, 4 * (20 + 50 + 60));
  EXPECT_EQ(peak.upper_bound, 4 * 50);
}

TEST(PlannedPeak, IgnoresUnusedInputs) {
  // ExecuTorch plans the output in the place of the unused input.
  Method method = MakePlannedMethod({16, 20, 3});
  method.values[2].tensor->memory_offset = 0;
  AddCall(1, 2, method);
  method.inputs = {0, 1};
  method.outputs = {2};
  EXPECT_EQ(FindPlannedPeak(PlannedTensors(method, {})).value().bytes, 4 * (20 + 3));
}

TEST(PlannedPeak, CountsAStateAllTheTime) {
  // 0 -> 1 -> 2, then 3 -> 4, and 4 is copied to 3 for the next inference: aten::copy_(3, 4, 3).
  Method method = MakePlannedMethod({10, 50, 60, 7, 7});
  AddCall(0, 1, method);
  AddCall(1, 2, method);
  AddCall(3, 4, method);
  AddCall(3, 4, method);
  method.instructions[3].arguments = {3, 4, 3};
  method.inputs = {0};
  method.outputs = {2};
  EXPECT_EQ(FindPlannedPeak(PlannedTensors(method, {})).value().bytes, 4 * (50 + 60 + 7));
  // A cache that is changed in place before it is read, and a view of it.
  std::swap(method.instructions[2], method.instructions[3]);
  method.values[4].tensor->memory_id.reset();
  EXPECT_EQ(FindPlannedPeak(PlannedTensors(method, {})).value().bytes, 4 * (50 + 60 + 7));
}

TEST(PlannedPeak, IsAbsentForBranchesAndWithoutPlannedTensors) {
  Method method = MakePlannedMethod({10, 50});
  EXPECT_FALSE(FindPlannedPeak(PlannedTensors(method, {})));
  AddCall(0, 1, method);
  EXPECT_TRUE(FindPlannedPeak(PlannedTensors(method, {})));
  method.instructions.emplace_back().kind = Instruction::Kind::kJumpFalse;
  EXPECT_THAT(PlannedTensors(method, {}), IsEmpty());
  EXPECT_FALSE(FindPlannedPeak(PlannedTensors(method, {})));
}

// A node that multiplies [4, 32] by a filter with these sizes.
struct Layer {
  explicit Layer(std::vector<std::int64_t> filter, const char* filter_type = "fp32", int bits = 32,
                 const char* type = "fp32") {
    for (std::uint32_t id = 0; id < 3; ++id) {
      XnnValue& value = graph.values.emplace_back();
      value.id = id;
      value.type = {type, std::string_view(type) == "fp16" ? 16 : 32};
      value.shape = {4, 32};
      graph.by_id[id] = id;
    }
    graph.values[1].type = {filter_type, bits};
    graph.values[1].shape = std::move(filter);
    graph.values[1].constant = 0;
    node.type = "XNNFullyConnected";
    node.inputs = {0, 1, 9};
    node.outputs = {2};
  }
  XnnGraph graph;
  XnnNode node;
};

TEST(PackedBytes, CountWeightsAndABiasPerChannel) {
  const Layer layer({64, 32});
  EXPECT_EQ(PackedBytes(layer.node, layer.graph), 64 * (32 + 1) * 4);
  Layer transposed({32, 64});
  transposed.node.flags = 1;
  EXPECT_EQ(PackedBytes(transposed.node, transposed.graph), 64 * (32 + 1) * 4);
  const Layer int8({64, 32}, "qcint8", 8);
  EXPECT_EQ(PackedBytes(int8.node, int8.graph), 64 * (32 + 4));
  // The file contains fp32, and XNNPACK packs fp16.
  const Layer half({64, 32}, "fp32", 32, "fp16");
  EXPECT_EQ(PackedBytes(half.node, half.graph), 64 * (32 + 1) * 2);
}

TEST(PackedBytes, CountConvolutions) {
  Layer layer({64, 3, 3, 16});
  layer.node.type = "XNNConv2d";
  layer.node.convolution.emplace();
  layer.node.convolution->groups = 2;
  layer.node.convolution->group_output_channels = 32;
  EXPECT_EQ(PackedBytes(layer.node, layer.graph), 64 * (9 * 16 + 1) * 4);
}

TEST(PackedBytes, AreZeroWithoutPackingAtLoad) {
  Layer layer({64, 32});
  layer.graph.values[1].constant.reset();
  EXPECT_EQ(PackedBytes(layer.node, layer.graph), 0);
  layer.node.type = "XNNAdd";
  EXPECT_EQ(PackedBytes(layer.node, layer.graph), 0);
  layer.node.type = "type 99";
  EXPECT_EQ(PackedBytes(layer.node, layer.graph), std::nullopt);
}

TEST(RepackedBytes, CountSharedWeights) {
  Program program;
  Method method;
  for (const char* const key : {"shared", "shared", "own", ""}) {
    Layer layer({64, 32});
    layer.graph.constants.resize(1);
    layer.graph.values[1].constant = 0;
    layer.graph.constants[0].key = key;
    layer.graph.nodes = {layer.node};
    method.delegates.emplace_back().graph = program.xnn_graphs.size();
    program.xnn_graphs.push_back(layer.graph);
  }
  EXPECT_EQ(RepackedBytes(method, program), 64 * (32 + 1) * 4);
  // Two operators of one graph read the same constant.
  program.xnn_graphs[3].nodes.push_back(program.xnn_graphs[3].nodes[0]);
  EXPECT_EQ(RepackedBytes(method, program), 2 * 64 * (32 + 1) * 4);
  method.delegates.resize(1);
  EXPECT_EQ(RepackedBytes(method, program), 0);
}

TEST(PackedBytes, AreUnknownForOtherBackends) {
  Method method;
  EXPECT_EQ(PackedBytes(method, {}), 0);
  method.delegates.emplace_back();
  EXPECT_EQ(PackedBytes(method, {}), std::nullopt);
}

}  // namespace
}  // namespace etprof
