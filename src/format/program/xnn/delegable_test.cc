#include "format/program/xnn/delegable.h"

#include <gtest/gtest.h>

#include "format/program/node_identity.h"
#include "format/program/testing.h"
#include "format/program/xnn/memory_estimate.h"

namespace etprof {
namespace {

using handmade::MakeCallingMethod;
using Shape = std::vector<std::int64_t>;

TEST(NotDelegatedReason, HandlesInconsistentRanks) {
  const std::vector<Shape> shapes = {{}, {1}, {2, 3}, {1, 8, 1, 1}, {1, 8, 4, 4}};
  for (const char* const name :
       {"aten::mean.out", "aten::max.dim_max", "aten::convolution.out", "aten::linear.out", "aten::mm.out",
        "aten::_softmax.out", "aten::slice_copy.Tensor_out", "aten::max_pool2d_with_indices.out"}) {
    for (const Shape& input : shapes) {
      for (const Shape& output : shapes) {
        const Method method = MakeCallingMethod(name, {input, output});
        EXPECT_FALSE(NotDelegatedReason(method.instructions[0], method).empty()) << name;
        IdentifyNode(method.instructions[0], method);
      }
    }
  }
}

TEST(NotDelegatedReason, NamesBranches) {
  Method method = MakeCallingMethod("aten::add.out", {{2}, {2}, {2}});
  method.instructions[0].index = 3;
  const Instruction& add = method.instructions[0];
  EXPECT_EQ(NotDelegatedReason(add, method),
            "the method has no XNNPACK delegate (was it exported for XNNPACK?)");
  const auto with_jump = [&](int from, std::size_t to) {
    Method other = method;
    Instruction jump;
    jump.kind = Instruction::Kind::kJumpFalse;
    jump.index = from;
    jump.target = to;
    other.instructions.push_back(jump);
    return NotDelegatedReason(other.instructions[0], other);
  };
  const char* const kBranch =
      "XNNPACK's partitioner does not look inside branches and loops (torch.cond, torch.map)";
  EXPECT_EQ(with_jump(1, 5), kBranch);
  EXPECT_EQ(with_jump(4, 2), kBranch);
  EXPECT_NE(with_jump(0, 3), kBranch);
  EXPECT_NE(with_jump(4, 6), kBranch);
  // If XNNPACK lacks the operator, that is the reason even in a branch.
  Method sort = MakeCallingMethod("aten::sort.out", {{2}, {2}});
  sort.instructions.push_back({Instruction::Kind::kJumpFalse, 0, 0, 4, {}});
  EXPECT_EQ(NotDelegatedReason(sort.instructions[0], sort), "XNNPACK has no such operator");
}

TEST(IdentifyNode, HandlesOverflowingChannels) {
  XnnNode node;
  node.type = "XNNConv2d";
  node.convolution.emplace();
  node.convolution->groups = node.convolution->group_input_channels = 0xffffffff;
  node.convolution->kernel_height = node.convolution->kernel_width = 3;
  EXPECT_EQ(IdentifyNode(node, {}).text, "Conv2d 3x3 groups 4294967295");
}

TEST(IdentifyNode, DistinguishesTransposedConvolutions) {
  // input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, out
  Method method =
      MakeCallingMethod("aten::convolution.out",
                        {{1, 64, 8, 8}, {64, 32, 2, 2}, {32}, {}, {}, {}, {}, {}, {}, {1, 32, 16, 16}});
  method.values[1].tensor->data = ProgramTensor::Data::kFile;
  ProgramValue& transposed = method.values[6];
  transposed = {};
  transposed.kind = ProgramValue::Kind::kBool;
  transposed.integer = 1;
  const NodeIdentity identity = IdentifyNode(method.instructions[0], method);
  EXPECT_EQ(identity.kind, "ConvTranspose2d");
  EXPECT_EQ(identity.text, "ConvTranspose2d 64→32 2x2");
  transposed.integer = 0;
  EXPECT_EQ(IdentifyNode(method.instructions[0], method).text, "Conv2d 64→32 2x2 groups 2");
}

TEST(FindPlannedPeak, HandlesOverflowingSizes) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 60;
  Method method = MakeCallingMethod("aten::add.out", {{kHalf}, {kHalf}, {kHalf}});
  for (std::uint32_t i = 0; i < 3; ++i) {
    method.values[i].tensor->memory_id = 1;
    method.values[i].tensor->memory_offset = 16 * i;
  }
  EXPECT_EQ(FindPlannedPeak(PlannedTensors(method, {})), std::nullopt);
}

}  // namespace
}  // namespace etprof
