#include "format/program/work.h"

#include <gtest/gtest.h>

#include <limits>

#include "format/program/summary.h"
#include "format/program/testing.h"

namespace etprof {
namespace {

using handmade::MakeCallingMethod;
using Sizes = std::vector<std::int64_t>;
const DataType kFloats = {"fp32", 32};

// A graph with values 0, 1, ... of these shapes.
XnnGraph MakeWorkGraph(const std::vector<Sizes>& shapes) {
  XnnGraph graph;
  for (std::uint32_t id = 0; id < shapes.size(); ++id) {
    XnnValue value;
    value.id = id;
    value.type = kFloats;
    value.shape = shapes[id];
    graph.by_id[id] = graph.values.size();
    graph.values.push_back(value);
  }
  return graph;
}

// A node that reads all values except the last value, which it writes.
XnnNode MakeNode(const std::string& type, std::uint32_t values) {
  XnnNode node;
  node.type = type;
  for (std::uint32_t id = 0; id + 1 < values; ++id) node.inputs.push_back(id);
  node.outputs = {values - 1};
  return node;
}

TEST(Work, CountsAFullyConnectedLayer) {
  XnnNode node = MakeNode("XNNFullyConnected", 3);
  EXPECT_EQ(CountMacs(node, MakeWorkGraph({{1, 128, 256}, {512, 256}, {1, 128, 512}})), 128 * 256 * 512);
  node.flags = 1;  // the filter is [in, out]
  EXPECT_EQ(CountMacs(node, MakeWorkGraph({{1, 128, 256}, {256, 512}, {1, 128, 512}})), 128 * 256 * 512);
  EXPECT_EQ(CountMacs(node, MakeWorkGraph({{1}, {256}, {1}})), std::nullopt);
}

TEST(Work, CountsConvolutions) {
  XnnNode node = MakeNode("XNNConv2d", 3);
  EXPECT_EQ(CountMacs(node, MakeWorkGraph({{}, {}, {}})), std::nullopt);
  node.convolution.emplace();
  node.convolution->kernel_height = 3;
  node.convolution->kernel_width = 2;
  node.convolution->group_input_channels = 4;
  node.convolution->group_output_channels = 5;
  const XnnGraph graph = MakeWorkGraph({{2, 9, 9, 8}, {10, 3, 2, 4}, {2, 7, 8, 10}});
  EXPECT_EQ(CountMacs(node, graph), 2 * 7 * 8 * 10 * 3 * 2 * 4);
  node.type = "XNNConvTranspose2d";  // each input element contributes to each output channel of its group
  EXPECT_EQ(CountMacs(node, graph), 2 * 9 * 9 * 8 * 3 * 2 * 5);
}

TEST(Work, CountsMatrixProducts) {
  EXPECT_EQ(
      CountMacs(MakeNode("XNNBatchMatrixMultiply", 3), MakeWorkGraph({{4, 6, 5}, {4, 5, 7}, {4, 6, 7}})),
      4 * 6 * 5 * 7);
  // Query [1, 2, 8, 16], key and value of 10 rows, the value 12 wide: 8 x 10 x (16 + 12) in both heads.
  EXPECT_EQ(
      CountMacs(MakeNode("XNNScaledDotProductAttention", 6),
                MakeWorkGraph({{1, 2, 8, 16}, {1, 2, 10, 16}, {1, 2, 10, 12}, {16}, {8, 10}, {1, 2, 8, 12}})),
      2 * 8 * 10 * (16 + 12));
}

TEST(Work, IsZeroWithoutMacsAndUnknownForUnknownNodes) {
  const XnnGraph graph = MakeWorkGraph({{8}, {8}});
  EXPECT_EQ(CountMacs(MakeNode("XNNGelu", 2), graph), 0);
  EXPECT_EQ(CountMacs(MakeNode("XNode 99", 2), graph), std::nullopt);
  XnnGraph mixed_graph = graph;
  mixed_graph.nodes = {MakeNode("XNNGelu", 2), MakeNode("XNode 99", 2)};
  mixed_graph.nodes[0].macs = 0;
  EXPECT_EQ(CountMacs(mixed_graph), std::nullopt);
}

TEST(Work, IsUnknownIfItOverflows) {
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(CountMacs(MakeNode("XNNBatchMatrixMultiply", 3),
                      MakeWorkGraph({{1, large}, {large, large}, {1, large}})),
            std::nullopt);
}

std::optional<std::int64_t> KernelMacs(const Method& method) {
  return CountMacs(method.instructions[0], method);
}

TEST(Work, CountsPortableKernels) {
  EXPECT_EQ(KernelMacs(MakeCallingMethod("aten::mm.out", {{3, 4}, {4, 5}, {3, 5}})), 60);
  EXPECT_EQ(KernelMacs(MakeCallingMethod("aten::bmm.out", {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}})), 120);
  EXPECT_EQ(KernelMacs(MakeCallingMethod("aten::addmm.out", {{5}, {3, 4}, {4, 5}, {}, {}, {3, 5}})), 60);
  EXPECT_EQ(KernelMacs(MakeCallingMethod("aten::linear.out", {{7, 4}, {5, 4}, {5}, {7, 5}})), 140);
  EXPECT_EQ(KernelMacs(MakeCallingMethod("aten::add.out", {{3}, {3}, {3}})), 0);
  EXPECT_EQ(KernelMacs(MakeCallingMethod("executorch_prim::et_view.default", {{3}, {}, {3}})), 0);
  EXPECT_EQ(KernelMacs(MakeCallingMethod("quantized_decomposed::mixed_mm.out", {{3}, {3}, {3}})),
            std::nullopt);
  EXPECT_EQ(KernelMacs(MakeCallingMethod("llama::custom_sdpa.out", {{3}, {3}, {3}})), std::nullopt);
  EXPECT_EQ(KernelMacs(MakeCallingMethod("aten::mm.out", {{3, 4}})), std::nullopt);
}

TEST(Work, DistinguishesTransposedPortableConvolutions) {
  Method call = MakeCallingMethod("aten::convolution.out",
                                  {{2, 6, 9, 9}, {6, 4, 3, 2}, {}, {}, {}, {}, {}, {}, {}, {2, 8, 19, 18}});
  EXPECT_EQ(KernelMacs(call), std::nullopt);  // argument 6, the flag `transposed`, has no value
  call.values[6].integer = 1;
  EXPECT_EQ(KernelMacs(call), 2 * 6 * 9 * 9 * 4 * 3 * 2);
  call.values[6].integer = 0;
  EXPECT_EQ(KernelMacs(call), 2 * 8 * 19 * 18 * 4 * 3 * 2);
}

TEST(DataType, BytesAreRoundedUp) {
  EXPECT_EQ(SizeInBytes({"qcint4", 4}, {3, 3}), 5);
  EXPECT_EQ(SizeInBytes({"float64", 64}, {}), 8);
  EXPECT_EQ(SizeInBytes({"float32", 32}, {0, 5}), 0);
  EXPECT_EQ(SizeInBytes({"float32", 32}, {std::numeric_limits<std::int64_t>::max()}), std::nullopt);
  EXPECT_EQ(SizeInBytes({"type 99", std::nullopt}, {3}), std::nullopt);
  EXPECT_EQ(ScalarTypeFromCode(99).name, "type 99");
}

}  // namespace
}  // namespace etprof
