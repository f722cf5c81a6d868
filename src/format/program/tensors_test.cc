#include "format/program/tensors.h"

#include <gtest/gtest.h>

#include "format/program/read/program_reader.h"

namespace etprof {
namespace {

const DataType kFloat = {"fp32", 32};
const DataType kInt8 = {"qint8", 8};

// Values 0 to 4: an input, a filter, the value between two nodes, a second input, the output.
XnnGraph MakeTwoNodeGraph() {
  XnnGraph graph;
  const std::vector<std::vector<std::int64_t>> shapes = {
      {1, 8, 8, 3}, {16, 3, 3, 3}, {1, 6, 6, 16}, {}, {1, 6, 6, 16}};
  for (std::uint32_t id = 0; id < shapes.size(); ++id) {
    XnnValue value;
    value.id = id;
    value.type = kFloat;
    value.shape = shapes[id];
    if (id == 1) value.constant = 0;
    graph.by_id[id] = graph.values.size();
    graph.values.push_back(value);
  }
  XnnNode convolution, add;
  convolution.inputs = {0, 1, 0xffffffff};  // no bias
  convolution.outputs = {2};
  add.index = 1;
  add.inputs = {2, 3, 3};
  add.outputs = {4};
  graph.nodes = {convolution, add};
  graph.uses = {{0, 1}, {1, 1}, {2, 1}, {3, 2}, {4, 1}};
  return graph;
}

TEST(Tensors, FollowTheOrderOfANodesArguments) {
  OperatorTensors tensors = GetTensors(std::vector<std::size_t>{0}, MakeTwoNodeGraph());
  ASSERT_EQ(tensors.inputs.size(), 2U);
  EXPECT_FALSE(tensors.inputs[0].constant);
  EXPECT_TRUE(tensors.inputs[1].constant);
  EXPECT_EQ(FormatTensors(tensors), "1x8x8x3, 16x3x3x3 -> 1x6x6x16 fp32");
  tensors.shapes = ProgramTensor::Shape::kBounded;
  EXPECT_EQ(FormatTensors(tensors), "1x8x8x3, 16x3x3x3 -> 1x6x6x16 fp32 at most");
}

TEST(Tensors, ExcludeValuesBetweenNodesOfAnOperator) {
  EXPECT_EQ(FormatTensors(GetTensors({0, 1}, MakeTwoNodeGraph())),
            "1x8x8x3, 16x3x3x3, scalar -> 1x6x6x16 fp32");
  XnnGraph read_elsewhere = MakeTwoNodeGraph();
  read_elsewhere.uses[2] = 2;
  EXPECT_EQ(FormatTensors(GetTensors({0, 1}, read_elsewhere)),
            "1x8x8x3, 16x3x3x3, scalar -> 1x6x6x16, 1x6x6x16 fp32");
}

TEST(Tensors, HaveTheirOwnTypesIfTheseDiffer) {
  XnnGraph graph = MakeTwoNodeGraph();
  graph.values[2].type = kInt8;
  EXPECT_EQ(FormatTensors(GetTensors(std::vector<std::size_t>{0}, graph)),
            "1x8x8x3 fp32, 16x3x3x3 fp32 -> 1x6x6x16 qint8");
  EXPECT_EQ(FormatTensors({}), "");
}

TEST(Tensors, IncludeListsOfAPortableKernel) {
  Method method;
  method.operators = {"aten::add.out"};
  for (const std::int64_t size : {4, 4, 4}) {
    ProgramValue value;
    value.kind = ProgramValue::Kind::kTensor;
    value.tensor = ProgramTensor{};
    value.tensor->type = {"float32", 32};
    value.tensor->shape = {2, size};
    method.values.push_back(value);
  }
  ProgramValue alpha;
  alpha.kind = ProgramValue::Kind::kInt;
  method.values.push_back(alpha);
  Instruction add;
  add.kind = Instruction::Kind::kKernel;
  add.arguments = {0, 1, 3, 2};
  EXPECT_EQ(FormatTensors(GetTensors(add, method)), "2x4, 2x4 -> 2x4 float32");
  add.arguments = {0, 0, 3, 2};  // the same tensor twice
  EXPECT_EQ(FormatTensors(GetTensors(add, method)), "2x4 -> 2x4 float32");
  method.values[3].kind = ProgramValue::Kind::kTensorList;  // cat
  method.values[3].items = {1, 0};
  add.arguments = {3, 2};
  EXPECT_EQ(FormatTensors(GetTensors(add, method)), "2x4, 2x4 -> 2x4 float32");
}

}  // namespace
}  // namespace etprof
