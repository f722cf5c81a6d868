#include "profile/analysis/join/neighbors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "format/etdump/reader.h"
#include "format/program/read/program_reader.h"
#include "profile/analysis/join/join.h"
#include "profile/analysis/testing.h"

namespace etprof {
namespace {

using handmade::ExecutedInstruction;
using handmade::Ids;
using handmade::MakeProfile;
using handmade::MakeXnnGraph;
using handmade::MethodBuilder;
using handmade::Node;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const std::string kTraces = ETPROF_TEST_DATA;

// The connected pairs as "0:Add #1 > 0:Clamp #1", where 0 is the instruction. A second occurrence has a "'".
std::vector<std::string> ListEdges(const Profile& profile, const Program& program, const Method& method) {
  const ProgramJoin join = JoinProgram(profile, program, method, nullptr);
  EXPECT_EQ(join.problem, "");
  const auto name = [&](std::size_t op) {
    const Operator& op_info = profile.operators[op];
    return std::to_string(op_info.key.instruction) + ":" + op_info.name +
           std::string(op_info.key.occurrence > 0 ? "'" : "");
  };
  std::vector<std::string> edges;
  std::set<std::pair<std::size_t, std::size_t>> backwards;
  for (std::size_t op = 0; op < join.operators.size(); ++op) {
    for (const std::size_t other : join.operators[op].consumers)
      edges.push_back(name(op) + " > " + name(other));
    for (const std::size_t other : join.operators[op].producers) backwards.emplace(other, op);
  }
  // Producers and consumers must agree.
  EXPECT_EQ(backwards.size(), edges.size());
  for (const auto& [from, to] : backwards) EXPECT_THAT(join.operators[from].consumers, Contains(to));
  return edges;
}

// The edges within one call with value 0 as its input.
std::vector<std::string> ListCallEdges(const std::vector<Node>& nodes, const Ids& outputs,
                                       const std::vector<std::string>& executed) {
  Ids externals = {0};
  externals.insert(externals.end(), outputs.begin(), outputs.end());
  std::vector<std::size_t> arguments;
  for (std::size_t i = 0; i < externals.size(); ++i) arguments.push_back(i);
  MethodBuilder builder(externals.size());
  builder.Call(MakeXnnGraph(nodes, {0}, outputs, externals), arguments);
  std::vector<std::string> edges = ListEdges(MakeProfile({{{0, executed}}}), builder.program, builder.method);
  for (std::string& edge : edges) {
    for (std::size_t at = edge.find("0:"); at != std::string::npos; at = edge.find("0:")) edge.erase(at, 2);
  }
  return edges;
}

TEST(Neighbors, ConnectsARealChain) {
  const Program program = ReadProgramFile(kTraces + "/toy_cnn.pte");
  for (const std::string file : {"toy_cnn.t1.etdump", "sme2_emulated/toy_cnn.sme2_on.etdump"}) {
    const Profile profile = Attribute(ReadEtdumpFile(kTraces + "/" + file), {});
    const ProgramJoin join = JoinProgram(profile, program, program.methods[0], nullptr);
    std::vector<std::size_t> chain;
    for (std::size_t op = 0; op < profile.operators.size(); ++op) {
      if (profile.operators[op].key.kind == SpanKind::kBackend) chain.push_back(op);
    }
    ASSERT_EQ(chain.size(), 11U);
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const OperatorSource& source = join.operators[chain[i]];
      EXPECT_EQ(source.producers, i == 0 ? std::vector<std::size_t>{} : std::vector{chain[i - 1]});
      EXPECT_EQ(source.consumers, i == 10 ? std::vector<std::size_t>{} : std::vector{chain[i + 1]});
    }
  }
}

TEST(Neighbors, ConnectsBranchesAndAResidual) {
  EXPECT_THAT(
      ListCallEdges({{"XNNConv2d", {0, 1000}, {1}},
                     {"XNNSigmoid", {1}, {2}},
                     {"XNNMultiply", {1, 2}, {3}},
                     {"XNNAdd*", {3, 0}, {4}},
                     {"XNNConcatenate3", {4, 1, 2}, {5}}},
                    {5}, {"Convolution #1", "Sigmoid #1", "Multiply #1", "Add #1", "Clamp #1", "Copy #1"}),
      UnorderedElementsAre("Convolution #1 > Sigmoid #1", "Convolution #1 > Multiply #1",
                           "Convolution #1 > Copy #1", "Sigmoid #1 > Multiply #1", "Sigmoid #1 > Copy #1",
                           "Multiply #1 > Add #1", "Add #1 > Clamp #1", "Clamp #1 > Copy #1"));
}

TEST(Neighbors, SkippedNodesPassOnTheirInput) {
  EXPECT_THAT(ListCallEdges({{"XNNStaticConstantPad", {0}, {1}},
                             {"XNNConv2d", {1, 1000}, {2}},
                             {"XNNClamp", {2}, {3}},
                             {"XNNConvert", {3}, {4}},
                             {"XNNGelu", {4}, {5}},
                             {"XNNConvert", {5}, {6}},
                             {"XNNAdd", {6, 3}, {7}}},
                            {7}, {"Convolution #1", "Invalid Unary Op #1", "Add #1"}),
              UnorderedElementsAre("Convolution #1 > Invalid Unary Op #1", "Convolution #1 > Add #1",
                                   "Invalid Unary Op #1 > Add #1"));
}

TEST(Neighbors, ConnectsIfAllAlignmentsAgree) {
  EXPECT_THAT(ListCallEdges({{"XNNAbs", {0}, {1}},
                             {"XNNStaticReshape", {1}, {2}},
                             {"XNNStaticReshape", {2}, {3}},
                             {"XNNSoftmax", {3}, {4}}},
                            {4}, {"Abs #1", "Static Reshape #1", "Softmax #1"}),
              UnorderedElementsAre("Abs #1 > Static Reshape #1", "Static Reshape #1 > Softmax #1"));
  // The value between the two has another reader, whose producer depends on the skipped node.
  EXPECT_THAT(ListCallEdges({{"XNNAbs", {0}, {1}},
                             {"XNNStaticReshape", {1}, {2}},
                             {"XNNStaticReshape", {2}, {3}},
                             {"XNNAdd", {2, 3}, {4}}},
                            {4}, {"Abs #1", "Static Reshape #1", "Add #1"}),
              UnorderedElementsAre("Abs #1 > Static Reshape #1", "Static Reshape #1 > Add #1"));
}

TEST(Neighbors, DoesNotConnectIfAlignmentsDisagree) {
  // It is not known which of the two clamps ran, so neither its input nor its readers are known.
  EXPECT_THAT(ListCallEdges({{"XNNAbs", {0}, {1}},
                             {"XNNSin", {0}, {2}},
                             {"XNNClamp", {1}, {3}},
                             {"XNNClamp", {2}, {4}},
                             {"XNNAdd", {3, 4}, {5}},
                             {"XNNSoftmax", {5}, {6}}},
                            {6}, {"Abs #1", "Sine #1", "Clamp #1", "Add #1", "Softmax #1"}),
              ElementsAre("Add #1 > Softmax #1"));
  // Neither the operator nor the node has a counterpart.
  EXPECT_THAT(ListCallEdges({{"XNNAbs", {0}, {1}}, {"XNNSquare", {1}, {2}}, {"XNNSoftmax", {2}, {3}}}, {3},
                            {"Abs #1", "RoPE #1", "Softmax #1"}),
              IsEmpty());
}

// The number of edges in a chain of `count` clamps, if one clamp was skipped.
std::size_t CountClampEdges(std::uint32_t count) {
  std::vector<Node> nodes;
  std::vector<std::string> executed;
  for (std::uint32_t i = 0; i < count; ++i) nodes.push_back({"XNNClamp", {i}, {i + 1}});
  while (executed.size() + 1 < count) executed.push_back("Clamp #" + std::to_string(executed.size() + 1));
  return ListCallEdges(nodes, {count}, executed).size();
}

TEST(Neighbors, AreUnknownForTooManyAlignments) {
  EXPECT_EQ(CountClampEdges(16), 14U);
  EXPECT_EQ(CountClampEdges(400), 0U);
}

TEST(Neighbors, IncludeOperatorsThatXnnpackInserted) {
  const std::vector<Node> product = {{"XNNAbs", {0}, {1}},
                                     {"XNNSin", {0}, {2}},
                                     {"XNNBatchMatrixMultiply", {1, 2}, {3}},
                                     {"XNNFullyConnected", {3, 1000}, {4}}};
  EXPECT_THAT(
      ListCallEdges(product, {4},
                    {"Abs #1", "Sine #1", "Pack LH #1", "Batch Matrix Multiply #1", "Pack LH #2",
                     "Fully Connected #1"}),
      UnorderedElementsAre("Abs #1 > Pack LH #1", "Pack LH #1 > Batch Matrix Multiply #1",
                           "Sine #1 > Batch Matrix Multiply #1", "Batch Matrix Multiply #1 > Pack LH #2",
                           "Pack LH #2 > Fully Connected #1"));
  // A conversion before an operator with two inputs may convert either.
  EXPECT_THAT(
      ListCallEdges(product, {4},
                    {"Abs #1", "Sine #1", "Convert #1", "Batch Matrix Multiply #1", "Fully Connected #1"}),
      UnorderedElementsAre("Abs #1 > Batch Matrix Multiply #1", "Sine #1 > Batch Matrix Multiply #1",
                           "Batch Matrix Multiply #1 > Fully Connected #1"));
  const std::vector<Node> resize = {{"XNNStaticResizeBilinear2D", {0}, {1}}, {"XNNAbs", {1}, {2}}};
  EXPECT_THAT(ListCallEdges(resize, {2}, {"Convert #1", "Resize Bilinear #1", "Convert #2", "Abs #1"}),
              UnorderedElementsAre("Convert #1 > Resize Bilinear #1", "Resize Bilinear #1 > Convert #2",
                                   "Convert #2 > Abs #1"));
  // The next operator does not read the output of the previous operator, so it is not known which of the two
  // is converted.
  EXPECT_THAT(ListCallEdges({{"XNNStaticResizeBilinear2D", {0}, {1}}, {"XNNAbs", {0}, {2}}}, {1, 2},
                            {"Resize Bilinear #1", "Convert #1", "Abs #1"}),
              IsEmpty());
}

TEST(Neighbors, ConnectsOperatorsInsertedAtTheEnd) {
  MethodBuilder builder(3);
  builder.Call(MakeXnnGraph({{"XNNStaticResizeBilinear2D", {0}, {1}}}, {0}, {1}, {0, 1}), {0, 1});
  builder.Kernel("aten::sum.out", {1, 2});
  EXPECT_THAT(
      ListEdges(MakeProfile({{{0, {"Resize Bilinear #1", "Convert #1"}}, {1, {"native_call_sum.out"}}}}),
                builder.program, builder.method),
      UnorderedElementsAre("0:Resize Bilinear #1 > 0:Convert #1", "0:Convert #1 > 1:native_call_sum.out"));
}

TEST(Neighbors, ConnectsARealProgramOfSeveralDelegates) {
  const Program program = ReadProgramFile(kTraces + "/../fuzz/corpus/program/mixed_delegates.pte");
  const Profile profile = MakeProfile(
      {{{0, {"Transpose (ND, X32) #1", "Convolution (NHWC, F32) IGEMM #1", "Transpose (ND, X32) #2"}},
        {1, {"native_call_mean.out"}},
        {2, {"native_call_cumsum.out"}},
        {3, {"Fully Connected (NC, F32) GEMM #1"}}}});
  EXPECT_THAT(ListEdges(profile, program, program.methods[0]),
              UnorderedElementsAre("0:Transpose (ND, X32) #1 > 0:Convolution (NHWC, F32) IGEMM #1",
                                   "0:Convolution (NHWC, F32) IGEMM #1 > 0:Transpose (ND, X32) #2",
                                   "0:Transpose (ND, X32) #2 > 1:native_call_mean.out",
                                   "1:native_call_mean.out > 2:native_call_cumsum.out",
                                   "2:native_call_cumsum.out > 3:Fully Connected (NC, F32) GEMM #1"));
}

TEST(Neighbors, ConnectsDelegatesByCallArguments) {
  MethodBuilder builder(8);
  // The call has two outputs, and the graph's values are not in the order of the arguments.
  builder.Call(MakeXnnGraph({{"XNNAbs", {5}, {7}}, {"XNNSin", {7}, {2}}}, {5}, {7, 2}, {5, 2, 7}), {0, 1, 2});
  const std::size_t halves = builder.AddTensorList({3, 4}), parts = builder.AddTensorList({4, 3, 2});
  builder.Kernel("aten::split_copy.Tensor_out", {1, halves, halves});
  builder.Kernel("aten::cat.out", {parts, 5, 5});
  builder.Call(MakeXnnGraph({{"XNNAdd", {0, 1}, {2}}}, {0, 1}, {2}, {0, 1, 2}), {5, 3, 6});
  const Profile profile = MakeProfile({{{0, {"Abs #1", "Sine #1"}},
                                        {1, {"native_call_split_copy.Tensor_out"}},
                                        {2, {"native_call_cat.out"}},
                                        {3, {"Add #1"}}}});
  EXPECT_THAT(ListEdges(profile, builder.program, builder.method),
              UnorderedElementsAre("0:Abs #1 > 0:Sine #1", "0:Sine #1 > 1:native_call_split_copy.Tensor_out",
                                   "0:Abs #1 > 2:native_call_cat.out",
                                   "1:native_call_split_copy.Tensor_out > 2:native_call_cat.out",
                                   "1:native_call_split_copy.Tensor_out > 3:Add #1",
                                   "2:native_call_cat.out > 3:Add #1"));
}

TEST(Neighbors, DoesNotConnectOtherBackendsAndMoves) {
  MethodBuilder builder(8);
  builder.Kernel("aten::abs.out", {0, 1}).CallOtherBackend({1, 2}).Kernel("aten::sum.out", {2, 3});
  builder.Kernel("aten::abs.out", {3, 4}).Move(4, 5).Kernel("aten::sum.out", {5, 6});
  builder.Kernel("aten::add.out", {1, 4, 7});
  const Profile profile = MakeProfile({{{0, {"native_call_abs.out"}},
                                        {1, {"something"}},
                                        {2, {"native_call_sum.out"}},
                                        {3, {"native_call_abs.out"}},
                                        {5, {"native_call_sum.out"}},
                                        {6, {"native_call_add.out"}}}});
  EXPECT_THAT(ListEdges(profile, builder.program, builder.method),
              UnorderedElementsAre("2:native_call_sum.out > 3:native_call_abs.out",
                                   "0:native_call_abs.out > 6:native_call_add.out",
                                   "3:native_call_abs.out > 6:native_call_add.out"));
}

TEST(Neighbors, FollowsViewsThatExecutorchRemoved) {
  // Value 2 is a view of value 1, and value 5 of value 4, which reuses the memory of value 1. Value 6
  // overlaps value 1 without being a view, and value 7 is a view of an input.
  MethodBuilder builder(9);
  const auto place = [&](std::size_t value, std::uint64_t offset) {
    builder.method.values[value].tensor->memory_id = 1;
    builder.method.values[value].tensor->memory_offset = offset;
  };
  for (const std::size_t value : {1u, 2u, 4u, 5u}) place(value, 64);
  place(6, 80);
  for (const std::size_t value : {0u, 7u}) place(value, 0);
  builder.method.inputs = {0};
  builder.Kernel("aten::abs.out", {0, 1}).Kernel("aten::sin.out", {2, 3}).Kernel("aten::cos.out", {3, 4});
  builder.Kernel("aten::add.out", {5, 6, 7, 8});
  const std::vector<ExecutedInstruction> executed = {{0, {"native_call_abs.out"}},
                                                     {1, {"native_call_sin.out"}},
                                                     {2, {"native_call_cos.out"}},
                                                     {3, {"native_call_add.out"}}};
  EXPECT_THAT(ListEdges(MakeProfile({executed}), builder.program, builder.method),
              UnorderedElementsAre("0:native_call_abs.out > 1:native_call_sin.out",
                                   "1:native_call_sin.out > 2:native_call_cos.out",
                                   "2:native_call_cos.out > 3:native_call_add.out"));
  // A view is the input of a delegate.
  MethodBuilder call_builder(3);
  for (const std::size_t value : {1u, 2u}) {
    call_builder.method.values[value].tensor->memory_id = 1;
    call_builder.method.values[value].tensor->memory_offset = 64;
  }
  call_builder.Kernel("aten::abs.out", {0, 1})
      .Call(MakeXnnGraph({{"XNNAbs", {0}, {1}}}, {0}, {1}, {0, 1}), {2, 0});
  EXPECT_THAT(ListEdges(MakeProfile({{{0, {"native_call_abs.out"}}, {1, {"Abs #1"}}}}), call_builder.program,
                        call_builder.method),
              ElementsAre("0:native_call_abs.out > 1:Abs #1"));
  // A branch may have written the base of the second view.
  builder.Move(3, 4);
  EXPECT_THAT(ListEdges(MakeProfile({executed}), builder.program, builder.method),
              UnorderedElementsAre("0:native_call_abs.out > 1:native_call_sin.out",
                                   "1:native_call_sin.out > 2:native_call_cos.out"));
}

TEST(Neighbors, FollowsTheExecutionOrder) {
  // Value 1 is written twice, and a loop repeats instruction 1.
  MethodBuilder builder(4);
  builder.Kernel("aten::abs.out", {0, 1}).Kernel("aten::sin.out", {1, 2}).Kernel("aten::cos.out", {2, 1});
  const std::vector<ExecutedInstruction> once = {{0, {"native_call_abs.out"}}, {1, {"native_call_sin.out"}}};
  std::vector<ExecutedInstruction> twice = once;
  twice.push_back({2, {"native_call_cos.out"}});
  twice.push_back({1, {"native_call_sin.out"}});
  EXPECT_THAT(ListEdges(MakeProfile({once, once, once}), builder.program, builder.method),
              ElementsAre("0:native_call_abs.out > 1:native_call_sin.out"));
  EXPECT_THAT(ListEdges(MakeProfile({once, twice, once}), builder.program, builder.method),
              UnorderedElementsAre("0:native_call_abs.out > 1:native_call_sin.out",
                                   "1:native_call_sin.out > 2:native_call_cos.out",
                                   "2:native_call_cos.out > 1:native_call_sin.out'"));
}

}  // namespace
}  // namespace etprof
