#include "report/kernels/watched.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

using protocol::WatchedThread;

// Ten runs of one operator: of each thread its tasks, its time in them, and that of the same tasks alone.
WatchData Watched(std::int64_t parallel_ns, std::vector<WatchedThread> threads, std::int64_t regions = 10) {
  WatchData data{"forward", {}};
  protocol::WatchReply& reply = data.reply;
  reply.runs = 10;
  reply.threads = static_cast<int>(threads.size());
  reply.architecture = "x86-64";
  // vfmadd231ps %ymm1,%ymm2,%ymm0; ret
  reply.functions = {{"", 0x1000, 6, "c4e26db8c1c3", ""}, {"", 0x2000, 1, "c3", ""}};
  protocol::WatchedOperator op{{0, 3, "backend", 2, 0},
                               "Convolution (NHWC, F32) IGEMM #1",
                               10,
                               parallel_ns + 100,
                               parallel_ns,
                               regions,
                               {},
                               threads};
  protocol::WatchedCalls kernel{0, false, {}}, task{1, true, {}};
  for (WatchedThread& thread : op.threads) {
    thread.waiting_ns = op.time_ns - thread.busy_ns;
    thread.regions = thread.tasks > 0 ? regions : 0;
    kernel.calls.push_back(2 * thread.tasks);
    task.calls.push_back(thread.tasks);
  }
  op.functions = {task, kernel};
  // Ten runs alike, a thousand times as long as the numbers here: what takes less is not judged.
  op.fastest_parallel_ns = 1000 * parallel_ns / 10;
  for (const WatchedThread& thread : threads) op.fastest_alone_ns += 1000 * thread.alone_ns / 10;
  reply.operators = {op};
  return data;
}

WatchedThread Thread(std::int64_t tasks, std::int64_t busy_ns, std::int64_t alone_ns,
                     std::int64_t wake_ns = 0) {
  WatchedThread thread;
  thread.tasks = thread.alone_tasks = tasks;
  thread.busy_ns = busy_ns;
  thread.alone_ns = alone_ns;
  thread.wake_ns = wake_ns;
  return thread;
}

std::optional<ThreadCause> CauseIn(const WatchData& data) { return WatchedRows(data).at(0).threads.cause; }

TEST(WatchedRows, WhatTasksCallComputesTheOperator) {
  const auto rows = WatchedRows(Watched(10'000, {Thread(40, 9'000, 9'000), Thread(40, 9'000, 9'000)}));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].key, "forward/3/backend/2");
  EXPECT_EQ(rows[0].code, "FMA3");
  ASSERT_EQ(rows[0].Kernels().size(), 1U);
  const ProvenFunction& kernel = *rows[0].Kernels()[0];
  EXPECT_EQ(kernel.name, "code at 0x1000");
  EXPECT_EQ(kernel.calls, (std::vector<std::int64_t>{8, 8}));  // in one run
  EXPECT_EQ(kernel.Calls(), 16);
  EXPECT_EQ(kernel.Threads(), 2);
  EXPECT_FALSE(rows[0].kleidiai);
}

TEST(WatchedRows, TheTaskItselfComputesWhereItCallsNothing) {
  WatchData data = Watched(10'000, {Thread(40, 9'000, 9'000)});
  data.reply.operators[0].functions.pop_back();
  const auto rows = WatchedRows(data);
  EXPECT_EQ(rows[0].code, "scalar");
  ASSERT_EQ(rows[0].Kernels().size(), 1U);
  EXPECT_TRUE(rows[0].Kernels()[0]->is_task);
}

TEST(WatchedRows, KleidiAiIsWhatComputesNotWhatPacks) {
  WatchData data = Watched(10'000, {Thread(40, 9'000, 9'000)});
  data.reply.functions[0].name = "kai_run_lhs_quant_pack_qai8dxp_f32";
  EXPECT_FALSE(WatchedRows(data)[0].kleidiai);
  data.reply.functions[0].name = "kai_run_matmul_clamp_f32_f32_f32p2vlx1b_1x16vl_sme2_mla";
  EXPECT_TRUE(WatchedRows(data)[0].kleidiai);
}

TEST(WatchedRows, ThreadsThatHelpHaveNoCause) {
  EXPECT_EQ(CauseIn(Watched(10'000, {Thread(40, 9'000, 9'000), Thread(40, 9'000, 9'000)})), std::nullopt);
}

TEST(WatchedRows, FewerTasksThanThreads) {
  EXPECT_EQ(CauseIn(Watched(10'000, {Thread(10, 9'000, 9'000), Thread(0, 0, 0)})), ThreadCause::kFewTasks);
}

TEST(WatchedRows, OneThreadDidMostOfIt) {
  EXPECT_EQ(CauseIn(Watched(10'000, {Thread(70, 9'500, 9'500), Thread(10, 1'000, 1'000)})),
            ThreadCause::kOneThread);
}

TEST(WatchedRows, ASlowCoreHasLessCapacityAndIsSlowAloneToo) {
  WatchedThread fast = Thread(50, 9'500, 9'500), slow = Thread(20, 9'500, 9'500);
  EXPECT_EQ(CauseIn(Watched(10'000, {fast, slow})), std::nullopt);  // the system tells of no such core
  fast.capacity = 1024;
  slow.capacity = 400;
  EXPECT_EQ(CauseIn(Watched(10'000, {fast, slow})), ThreadCause::kSlowCore);
  // Tasks that take longer only beside others are no slow core's.
  fast.alone_ns = 5'000;
  slow.alone_ns = 2'000;
  EXPECT_NE(CauseIn(Watched(10'000, {fast, slow})), ThreadCause::kSlowCore);
}

TEST(WatchedRows, ASharedUnitGivesNoSpeedupToEvenTasks) {
  // Each task takes twice as long beside another one.
  EXPECT_EQ(CauseIn(Watched(10'000, {Thread(40, 9'500, 4'750), Thread(40, 9'500, 4'750)})),
            ThreadCause::kSharedUnit);
  // The threads stand in a queue outside of what is timed.
  EXPECT_EQ(CauseIn(Watched(10'000, {Thread(40, 4'800, 4'750), Thread(40, 4'800, 4'750)})),
            ThreadCause::kSharedUnit);
  // Without the runs of single tasks nothing of the kind is said.
  EXPECT_EQ(CauseIn(Watched(10'000, {Thread(40, 9'500, 0), Thread(40, 9'500, 0)})), std::nullopt);
}

TEST(WatchedRows, ShortOperatorsAreNotJudgedByTheirTimes) {
  WatchData data = Watched(10'000, {Thread(40, 9'500, 4'750), Thread(40, 9'500, 4'750)});
  data.reply.operators[0].fastest_parallel_ns = 99'999;
  data.reply.operators[0].fastest_alone_ns = 90'000;
  EXPECT_EQ(CauseIn(data), std::nullopt);
}

TEST(WatchedRows, OneDisturbedRunMakesNoSharedUnit) {
  // The sums say 0.95 times as fast as one after the other, the fastest runs 1.9 times.
  WatchData data = Watched(20'000, {Thread(40, 9'500, 9'500), Thread(40, 9'500, 9'500)});
  data.reply.operators[0].fastest_parallel_ns = 1'000'000;
  EXPECT_EQ(CauseIn(data), std::nullopt);
}

TEST(WatchedRows, ABusyMachineGivesNoCause) {
  WatchData data = Watched(10'000, {Thread(10, 9'000, 9'000), Thread(0, 0, 0)});
  data.reply.contended = true;
  EXPECT_EQ(CauseIn(data), std::nullopt);
  EXPECT_EQ(WatchedRows(data)[0].code, "FMA3");  // what ran is no matter of time
}

TEST(WatchedRows, BusyAndWaitingAreAllThreadsTime) {
  const auto row = WatchedRows(Watched(10'000, {Thread(40, 9'000, 9'000), Thread(40, 7'000, 9'000)})).at(0);
  std::int64_t sum = 0;
  for (const WatchedThread& thread : row.threads.threads) sum += thread.busy_ns + thread.waiting_ns;
  EXPECT_EQ(sum, 2 * row.threads.time_ns);
  EXPECT_DOUBLE_EQ(row.threads.Efficiency().value(), 0.8);
}

}  // namespace
}  // namespace etprof
