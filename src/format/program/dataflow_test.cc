#include "format/program/dataflow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/program/testing.h"
#include "format/program/work.h"

namespace etprof {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A graph whose node i reads and writes these values, each with 10 floats. Value 9 is a constant, and value 8
// does not exist.
XnnGraph MakeDataflowGraph(
    const std::vector<std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>>& nodes,
    const std::vector<std::uint32_t>& outputs) {
  XnnGraph graph;
  for (const std::uint32_t id : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 9u}) {
    XnnValue value;
    value.id = id;
    value.type = {"fp32", 32};
    value.shape = {10};
    if (id == 9) value.constant = 0;
    graph.by_id[id] = graph.values.size();
    graph.values.push_back(value);
  }
  for (const auto& [inputs, written] : nodes) {
    XnnNode node;
    node.index = graph.nodes.size();
    node.type = "XNNAdd";
    node.macs = 0;
    node.inputs = inputs;
    node.outputs = written;
    for (const std::uint32_t id : inputs) ++graph.uses[id];
    graph.nodes.push_back(node);
  }
  graph.outputs = outputs;
  for (const std::uint32_t id : outputs) ++graph.uses[id];
  return graph;
}

TEST(Dataflow, FollowsXnnNodes) {
  const XnnGraph graph = MakeDataflowGraph({{{0, 9, 0, 8}, {1}}, {{1}, {2}}, {{1, 2}, {3}}}, {3});
  const auto first = FindDataflow({0}, graph);
  EXPECT_THAT(first.read, ElementsAre(0, 9));
  EXPECT_THAT(first.written, ElementsAre(1));
  // Node 2 also reads value 1, and it is the only reader of value 2.
  const auto first_two = FindDataflow({0, 1}, graph);
  EXPECT_THAT(first_two.read, ElementsAre(0, 9));
  EXPECT_THAT(first_two.written, ElementsAre(1, 2));
  const auto all_nodes = FindDataflow({0, 1, 2}, graph);
  EXPECT_THAT(all_nodes.read, ElementsAre(0, 9));
  EXPECT_THAT(all_nodes.written, ElementsAre(3));
  // Values without a reader do not count as written.
  EXPECT_THAT(FindDataflow({0}, MakeDataflowGraph({{{0}, {1}}}, {})).written, IsEmpty());
}

TEST(Dataflow, AReshapeWithinAnOperatorCountsItsOutput) {
  XnnGraph graph = MakeDataflowGraph({{{0, 9}, {1}}, {{1}, {2}}}, {2});
  graph.nodes[1].type = "XNNStaticReshape";
  EXPECT_EQ(ComputeWork({0, 1}, graph).written, 40);
  EXPECT_EQ(ComputeWork({0, 1}, graph).read, 80);
  EXPECT_EQ(ComputeWork(std::vector<std::size_t>{1}, graph).bytes, 0);
}

// Values: tensors 0 to 4, a number, the list of 3 and 4, the list of 0, 1, and 0.
Method MakeMethodWithLists() {
  Method method = handmade::MakeCallingMethod("aten::x.out", {{1}, {2}, {3}, {4}, {5}});
  ProgramValue number, outputs, inputs;
  number.kind = ProgramValue::Kind::kInt;
  outputs.kind = inputs.kind = ProgramValue::Kind::kTensorList;
  outputs.items = {3, 4};
  inputs.items = {0, 1, 0};
  method.values.insert(method.values.end(), {number, outputs, inputs});
  return method;
}

TEST(Dataflow, ReadsListsOfTensors) {
  const Method method = MakeMethodWithLists();
  Instruction kernel;
  kernel.kind = Instruction::Kind::kKernel;
  kernel.arguments = {2, 5, 3, 4, 6};  // a tensor, a number, two outputs, and the list of both
  auto flow = FindDataflow(kernel, method);
  EXPECT_THAT(flow.read, ElementsAre(2));
  EXPECT_THAT(flow.written, ElementsAre(3, 4));
  EXPECT_EQ(ComputeWork(kernel, method).read, 3 * 4);
  EXPECT_EQ(ComputeWork(kernel, method).written, (4 + 5) * 4);
  kernel.arguments = {7, 5, 2, 2};  // a list, a number, the output twice
  flow = FindDataflow(kernel, method);
  EXPECT_THAT(flow.read, ElementsAre(0, 1));
  EXPECT_THAT(flow.written, ElementsAre(2));
  kernel.arguments = {2, 5};  // aten::sym_size: a number from a tensor
  flow = FindDataflow(kernel, method);
  EXPECT_THAT(flow.read, ElementsAre(2));
  EXPECT_THAT(flow.written, IsEmpty());
  kernel.kind = Instruction::Kind::kMove;
  EXPECT_THAT(FindDataflow(kernel, method).read, IsEmpty());
}

TEST(Dataflow, FindsArgumentsByExternalId) {
  Instruction call;
  call.arguments = {7, 3};
  XnnValue value;
  EXPECT_EQ(FindArgument(value, call), std::nullopt);
  value.external_id = 1;
  EXPECT_EQ(FindArgument(value, call), 3U);
  value.external_id = 2;
  EXPECT_EQ(FindArgument(value, call), std::nullopt);
}

}  // namespace
}  // namespace etprof
