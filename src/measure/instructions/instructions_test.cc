#include "measure/instructions/instructions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etprof {
namespace {

protocol::CountersReply MakeReply(double method, double backend) {
  protocol::CountersReply reply;
  reply.source = protocol::CounterSourceKind::kEmulator;
  reply.counters = {{"instructions", true, 1}, {"neon_instructions", true, 1}};
  reply.operators = {{{0, -1, "method", 0, 0}, "Method::execute", 1, {method, 10}},
                     {{0, 0, "delegate_call", 0, 0}, "DELEGATE_CALL", 1, {method + 1, 10}},
                     {{0, 0, "backend", 1, 0}, "Convolution", 1, {backend, 8}}};
  return reply;
}

TEST(MergeInstructions, ReturnsMeansAndRanges) {
  const auto rows = MergeInstructions({MakeReply(1000, 900), MakeReply(1004, 900)}, "forward");
  ASSERT_EQ(rows.size(), 2U);  // a delegate call is not an operator
  EXPECT_EQ(rows[0].key, "forward/-1/method/0");
  EXPECT_EQ(rows[0].instructions, 1002);
  EXPECT_EQ(rows[0].lowest, 1000);
  EXPECT_EQ(rows[0].highest, 1004);
  EXPECT_EQ(rows[0].CountOfKind("neon_instructions"), 10);
  EXPECT_EQ(rows[0].CountOfKind("sve_instructions"), std::nullopt);
  EXPECT_EQ(MethodInstructions(rows), rows.data());
  EXPECT_EQ(rows[1].key, "forward/0/backend/1");
  EXPECT_EQ(rows[1].lowest, rows[1].highest);
}

TEST(MergeInstructions, OmitsOperatorsThatOneProcessDidNotRun) {
  protocol::CountersReply shorter_reply = MakeReply(1000, 900);
  shorter_reply.operators.pop_back();
  EXPECT_EQ(MergeInstructions({MakeReply(1000, 900), shorter_reply}, "forward").size(), 1U);
  EXPECT_TRUE(MergeInstructions({}, "forward").empty());
  EXPECT_EQ(MethodInstructions({}), nullptr);
}

}  // namespace
}  // namespace etprof
