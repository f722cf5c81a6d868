#include "inference/boundary_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etprof::runner {
namespace {

using testing::ElementsAre;

// Two counters that the test advances, the second ten times as fast.
class BoundaryRecorderTest : public testing::Test {
 protected:
  void Work(std::uint64_t amount) { now_ += amount; }
  // A run with one kernel and a delegate call of two operators, with other work between all of them.
  void Run(bool is_measured, std::uint64_t factor) {
    recorder_.BeginRun(is_measured);
    recorder_.BeginSpan("Method::execute", 0, -1);
    Work(1);
    recorder_.BeginSpan("OPERATOR_CALL", 0, 0);
    Work(2);
    recorder_.BeginSpan("native_call_add.out", 0, 0);
    Work(100 * factor);
    recorder_.EndSpan();
    recorder_.EndSpan();
    recorder_.BeginSpan("DELEGATE_CALL", 0, 1);
    Work(3);
    recorder_.RecordBoundary();
    Work(1000 * factor);
    recorder_.RecordBoundary();
    Work(2000 * factor);
    recorder_.RecordBoundary();
    Work(4);
    recorder_.RecordDelegateOperator("Convolution #1");
    recorder_.RecordDelegateOperator("Copy #1");
    recorder_.EndSpan();
    recorder_.EndSpan();
    recorder_.EndRun();
  }
  protocol::CountersReply Reply(std::vector<double> scale = {1, 1}) {
    protocol::CountersReply reply;
    recorder_.Fill(scale, reply);
    return reply;
  }
  static const protocol::OperatorCounts& Find(const protocol::CountersReply& reply, const std::string& name,
                                              std::int64_t occurrence = 0) {
    for (const protocol::OperatorCounts& counts : reply.operators) {
      if (counts.name == name && counts.place.occurrence == occurrence) return counts;
    }
    static const protocol::OperatorCounts none;
    ADD_FAILURE() << name << " was not counted";
    return none;
  }

  std::uint64_t now_ = 5;
  BoundaryRecorder recorder_{2, [this](std::uint64_t* values) {
                               values[0] = now_;
                               values[1] = 10 * now_;
                             }};
};

TEST_F(BoundaryRecorderTest, CountsBetweenTheBoundariesOfEachOperator) {
  Run(false, 50);  // a warm-up run
  Run(true, 1);
  Run(true, 3);
  const protocol::CountersReply reply = Reply();
  EXPECT_EQ(reply.runs, 2);
  EXPECT_EQ(reply.unmatched_calls, 0);
  EXPECT_EQ(reply.operators.size(), 6U);
  const auto& kernel = Find(reply, "native_call_add.out");
  EXPECT_EQ(kernel.place.kind, "kernel");
  EXPECT_EQ(kernel.place.instruction, 0);
  EXPECT_EQ(kernel.runs, 2);
  EXPECT_THAT(kernel.means, ElementsAre(200, 2000));
  const auto& convolution = Find(reply, "Convolution #1");
  EXPECT_EQ(convolution.place.kind, "backend");
  EXPECT_EQ(convolution.place.instruction, 1);
  EXPECT_EQ(convolution.place.ordinal, 0);
  EXPECT_THAT(convolution.means, ElementsAre(2000, 20000));
  EXPECT_EQ(Find(reply, "Copy #1").place.ordinal, 1);
  EXPECT_THAT(Find(reply, "Copy #1").means, ElementsAre(4000, 40000));
  const auto& method = Find(reply, "Method::execute");
  EXPECT_EQ(method.place.instruction, -1);
  EXPECT_THAT(method.means, ElementsAre(6210, 62100));
  EXPECT_THAT(Find(reply, "DELEGATE_CALL").means, ElementsAre(6007, 60070));
}

TEST_F(BoundaryRecorderTest, ScalesACounterThatCountedForHalfOfTheTime) {
  Run(true, 1);
  EXPECT_THAT(Find(Reply({1, 2}), "Copy #1").means, ElementsAre(2000, 40000));
}

TEST_F(BoundaryRecorderTest, DistinguishesOccurrencesOfAnInstruction) {
  recorder_.BeginRun(true);
  for (const std::uint64_t work : {7U, 9U}) {
    recorder_.BeginSpan("DELEGATE_CALL", 0, 4);
    recorder_.RecordBoundary();
    Work(work);
    recorder_.RecordBoundary();
    recorder_.RecordDelegateOperator("Copy #1");
    recorder_.EndSpan();
  }
  recorder_.EndRun();
  EXPECT_THAT(Find(Reply(), "Copy #1", 0).means, ElementsAre(7, 70));
  EXPECT_THAT(Find(Reply(), "Copy #1", 1).means, ElementsAre(9, 90));
}

TEST_F(BoundaryRecorderTest, DropsOperatorsThatDoNotMatchTheBoundaries) {
  recorder_.BeginRun(true);
  recorder_.BeginSpan("DELEGATE_CALL", 0, 4);
  recorder_.RecordBoundary();
  recorder_.RecordBoundary();
  recorder_.RecordDelegateOperator("a");
  recorder_.RecordDelegateOperator("b");
  recorder_.EndSpan();
  recorder_.EndRun();
  const protocol::CountersReply reply = Reply();
  EXPECT_EQ(reply.unmatched_calls, 1);
  ASSERT_EQ(reply.operators.size(), 1U);
  EXPECT_EQ(reply.operators[0].place.kind, "delegate_call");
}

TEST_F(BoundaryRecorderTest, CountsKernelsThatLogTheirNameUnchanged) {
  recorder_.BeginRun(true);
  recorder_.BeginSpan("OPERATOR_CALL", 0, 4);
  recorder_.BeginSpan("llama::custom_sdpa.out", 0, 4);
  Work(7);
  recorder_.EndSpan();
  recorder_.EndSpan();
  recorder_.BeginSpan("MOVE_CALL", 0, 5);
  recorder_.EndSpan();
  recorder_.EndRun();
  const protocol::CountersReply reply = Reply();
  EXPECT_EQ(reply.operators.size(), 2U);  // not the MOVE_CALL
  const auto& kernel = Find(reply, "llama::custom_sdpa.out");
  EXPECT_EQ(kernel.place.kind, "kernel");
  EXPECT_THAT(kernel.means, ElementsAre(7, 70));
}

TEST_F(BoundaryRecorderTest, IgnoresSpansOutsideOfARun) {
  recorder_.BeginSpan("Method::execute", 0, -1);
  recorder_.RecordBoundary();
  recorder_.EndSpan();
  EXPECT_TRUE(Reply().operators.empty());
}

}  // namespace
}  // namespace etprof::runner
