#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/program/source/etrecord.h"

namespace etprof {
namespace {

using ::testing::Eq;
using ::testing::Optional;

// Method forward: a kernel, and a delegate with a convolution (handle 3) and a linear layer (handle 5).
Program MakeTwoNodeProgram() {
  XnnGraph graph;
  graph.nodes.resize(2);
  graph.nodes[0].type = "XNNConv2d";
  graph.nodes[0].debug_handle = 3;
  graph.nodes[1].type = "XNNFullyConnected";
  graph.nodes[1].debug_handle = 5;
  Method method;
  method.name = "forward";
  method.instructions.resize(2);
  method.instructions[1].index = 1;
  method.delegates.resize(1);
  method.delegates[0].graph = 0;
  Program program;
  program.methods.push_back(method);
  program.xnn_graphs.push_back(graph);
  return program;
}

SourceMap MakeRecord(const std::string& conv_target, const std::string& linear_target) {
  MethodSources method;
  method.nodes = {{"a", "quantized_decomposed.dequantize_per_tensor.default", {}, {}},
                  {"b", conv_target, {}, {}},
                  {"c", linear_target, {}, {}}};
  method.handles = {{3, {0, 1}}, {5, {2}}};
  method.instructions = {{0, {2}}, {1, {3, 5}}};
  return {{{"forward", method}}};
}

TEST(SourceFit, AcceptsARecordOfTheProgram) {
  for (const char* target : {"aten.linear.default", "aten.addmm.default", "aten.mm.default"})
    EXPECT_EQ(FindMismatch(MakeTwoNodeProgram(), MakeRecord("aten.convolution.default", target)),
              std::nullopt);
  EXPECT_EQ(FindMismatch(MakeTwoNodeProgram(), {}), std::nullopt);
}

TEST(SourceFit, RefusesOtherOperators) {
  EXPECT_THAT(FindMismatch(MakeTwoNodeProgram(), MakeRecord("aten.relu.default", "aten.mm.default")),
              Optional(Eq("what the program has as XNNConv2d is "
                          "quantized_decomposed.dequantize_per_tensor.default there")));
  EXPECT_THAT(FindMismatch(MakeTwoNodeProgram(), MakeRecord("aten.convolution.default", "aten.mean.dim")),
              Optional(Eq("what the program has as XNNFullyConnected is aten.mean.dim there")));
}

TEST(SourceFit, RequiresKernelsThatMultiplyMatrices) {
  Program program = MakeTwoNodeProgram();
  Method& method = program.methods[0];
  method.operators = {"aten::convolution.out", "aten::relu.out"};
  method.instructions[0].kind = Instruction::Kind::kKernel;
  SourceMap record = MakeRecord("aten.convolution.default", "aten.mm.default");
  EXPECT_EQ(FindMismatch(program, record), std::nullopt);
  record.methods.at("forward").instructions.erase(0);
  EXPECT_THAT(FindMismatch(program, record),
              Optional(Eq("it does not know instruction 0 of forward, aten::convolution.out")));
  Program branching = program;
  branching.methods[0].instructions.emplace_back().kind = Instruction::Kind::kJumpFalse;
  EXPECT_EQ(FindMismatch(branching, record), std::nullopt);
  method.instructions[0].target = 1;
  EXPECT_EQ(FindMismatch(program, record), std::nullopt);
}

TEST(SourceFit, RefusesOtherMethodsAndMoreInstructions) {
  SourceMap record = MakeRecord("aten.convolution.default", "aten.mm.default");
  record.methods.at("forward").instructions[2] = {7};
  EXPECT_THAT(FindMismatch(MakeTwoNodeProgram(), record),
              Optional(Eq("it speaks of instruction 2 of forward, which ends at 1")));
  const SourceMap other = {{{"decode", record.methods.at("forward")}}};
  EXPECT_THAT(FindMismatch(MakeTwoNodeProgram(), other), Optional(Eq("it is of a method decode")));
}

}  // namespace
}  // namespace etprof
