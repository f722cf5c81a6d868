#include "report/kernels/watched.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

using protocol::WatchedThread;

// Ten runs of one operator. Each thread has tasks, the time in them, and the time of the same tasks without
// contention.
WatchData MakeWatched(std::int64_t parallel_ns, std::vector<WatchedThread> threads,
                      std::int64_t regions = 10) {
  WatchData data{"forward", {}};
  protocol::WatchReply& reply = data.reply;
  reply.runs = 10;
  reply.threads = static_cast<int>(threads.size());
  reply.architecture = "x86-64";
  // vfmadd231ps %ymm1,%ymm2,%ymm0; ret
  reply.functions = {{"", 0x1000, 6, "c4e26db8c1c3", ""}, {"", 0x2000, 1, "c3", ""}};
  protocol::WatchedOperator op{{10, parallel_ns + 100, parallel_ns, regions, threads},
                               {0, 3, "backend", 2, 0},
                               "Convolution (NHWC, F32) IGEMM #1",
                               {}};
  protocol::WatchedCalls kernel{0, false, {}}, task{1, true, {}};
  for (WatchedThread& thread : op.threads) {
    thread.waiting_ns = op.time_ns - thread.busy_ns;
    thread.regions = thread.tasks > 0 ? regions : 0;
    kernel.calls.push_back(2 * thread.tasks);
    task.calls.push_back(thread.tasks);
  }
  op.functions = {task, kernel};
  // The fastest run is scaled to 1000 times its length, since short operators have no cause.
  op.fastest_parallel_ns = 1000 * parallel_ns / 10;
  for (const WatchedThread& thread : threads) op.fastest_serial_ns += 1000 * thread.serial_ns / 10;
  reply.operators = {op};
  return data;
}

WatchedThread MakeThread(std::int64_t tasks, std::int64_t busy_ns, std::int64_t serial_ns,
                         std::int64_t wake_ns = 0) {
  WatchedThread thread;
  thread.tasks = thread.serial_tasks = tasks;
  thread.busy_ns = busy_ns;
  thread.serial_ns = serial_ns;
  thread.wake_ns = wake_ns;
  return thread;
}

std::optional<ThreadCause> FindCause(const WatchData& data) {
  return MakeWatchedRows(data).at(0).threads.cause;
}

TEST(MakeWatchedRows, CalleesOfTasksAreKernels) {
  const auto rows =
      MakeWatchedRows(MakeWatched(10'000, {MakeThread(40, 9'000, 9'000), MakeThread(40, 9'000, 9'000)}));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].key, "forward/3/backend/2");
  EXPECT_EQ(rows[0].code, "FMA3");
  ASSERT_EQ(rows[0].Kernels().size(), 1U);
  const ObservedFunction& kernel = *rows[0].Kernels()[0];
  EXPECT_EQ(kernel.name, "code at 0x1000");
  EXPECT_EQ(kernel.calls, (std::vector<std::int64_t>{8, 8}));  // per run
  EXPECT_EQ(kernel.Calls(), 16);
  EXPECT_EQ(kernel.ThreadGroup(), 2);
  EXPECT_FALSE(rows[0].runs_kleidiai);
}

TEST(MakeWatchedRows, TasksWithoutCalleesAreKernels) {
  WatchData data = MakeWatched(10'000, {MakeThread(40, 9'000, 9'000)});
  data.reply.operators[0].functions.pop_back();
  const auto rows = MakeWatchedRows(data);
  EXPECT_EQ(rows[0].code, "scalar");
  ASSERT_EQ(rows[0].Kernels().size(), 1U);
  EXPECT_TRUE(rows[0].Kernels()[0]->is_task);
}

TEST(MakeWatchedRows, PackingIsNotAKleidiAiKernel) {
  WatchData data = MakeWatched(10'000, {MakeThread(40, 9'000, 9'000)});
  data.reply.functions[0].name = "kai_run_lhs_quant_pack_qai8dxp_f32";
  EXPECT_FALSE(MakeWatchedRows(data)[0].runs_kleidiai);
  data.reply.functions[0].name = "kai_run_matmul_clamp_f32_f32_f32p2vlx1b_1x16vl_sme2_mla";
  EXPECT_TRUE(MakeWatchedRows(data)[0].runs_kleidiai);
}

TEST(MakeWatchedRows, EffectiveThreadsHaveNoCause) {
  EXPECT_EQ(FindCause(MakeWatched(10'000, {MakeThread(40, 9'000, 9'000), MakeThread(40, 9'000, 9'000)})),
            std::nullopt);
}

TEST(MakeWatchedRows, FindsTooFewTasks) {
  EXPECT_EQ(FindCause(MakeWatched(10'000, {MakeThread(10, 9'000, 9'000), MakeThread(0, 0, 0)})),
            ThreadCause::kFewTasks);
}

TEST(MakeWatchedRows, FindsOneBusyThread) {
  EXPECT_EQ(FindCause(MakeWatched(10'000, {MakeThread(70, 9'500, 9'500), MakeThread(10, 1'000, 1'000)})),
            ThreadCause::kOneThread);
}

TEST(MakeWatchedRows, FindsSlowCores) {
  WatchedThread fast = MakeThread(50, 9'500, 9'500), slow = MakeThread(20, 9'500, 9'500);
  EXPECT_EQ(FindCause(MakeWatched(10'000, {fast, slow})), std::nullopt);  // the capacities are not known
  fast.capacity = 1024;
  slow.capacity = 400;
  EXPECT_EQ(FindCause(MakeWatched(10'000, {fast, slow})), ThreadCause::kSlowCore);
  // Tasks that take longer only under contention do not show a slow core.
  fast.serial_ns = 5'000;
  slow.serial_ns = 2'000;
  EXPECT_NE(FindCause(MakeWatched(10'000, {fast, slow})), ThreadCause::kSlowCore);
}

TEST(MakeWatchedRows, FindsSharedUnits) {
  // Each task takes twice as long next to another task.
  EXPECT_EQ(FindCause(MakeWatched(10'000, {MakeThread(40, 9'500, 4'750), MakeThread(40, 9'500, 4'750)})),
            ThreadCause::kSharedUnit);
  // The threads wait for each other outside of the timed code.
  EXPECT_EQ(FindCause(MakeWatched(10'000, {MakeThread(40, 4'800, 4'750), MakeThread(40, 4'800, 4'750)})),
            ThreadCause::kSharedUnit);
  // Without runs of single tasks, there is no cause.
  EXPECT_EQ(FindCause(MakeWatched(10'000, {MakeThread(40, 9'500, 0), MakeThread(40, 9'500, 0)})),
            std::nullopt);
}

TEST(MakeWatchedRows, ShortOperatorsHaveNoCause) {
  WatchData data = MakeWatched(10'000, {MakeThread(40, 9'500, 4'750), MakeThread(40, 9'500, 4'750)});
  data.reply.operators[0].fastest_parallel_ns = 99'999;
  data.reply.operators[0].fastest_serial_ns = 90'000;
  EXPECT_EQ(FindCause(data), std::nullopt);
}

TEST(MakeWatchedRows, ADisturbedRunIsNoSharedUnit) {
  // By the sums, the speedup is 0.95x; by the fastest runs, it is 1.9x.
  WatchData data = MakeWatched(20'000, {MakeThread(40, 9'500, 9'500), MakeThread(40, 9'500, 9'500)});
  data.reply.operators[0].fastest_parallel_ns = 1'000'000;
  EXPECT_EQ(FindCause(data), std::nullopt);
}

TEST(MakeWatchedRows, ContendedRunsHaveNoCause) {
  WatchData data = MakeWatched(10'000, {MakeThread(10, 9'000, 9'000), MakeThread(0, 0, 0)});
  data.reply.contended = true;
  EXPECT_EQ(FindCause(data), std::nullopt);
  EXPECT_EQ(MakeWatchedRows(data)[0].code, "FMA3");  // the code does not depend on times
}

TEST(MakeWatchedRows, BusyAndWaitingTimesAddUp) {
  const auto row =
      MakeWatchedRows(MakeWatched(10'000, {MakeThread(40, 9'000, 9'000), MakeThread(40, 7'000, 9'000)}))
          .at(0);
  std::int64_t sum = 0;
  for (const WatchedThread& thread : row.threads.threads) sum += thread.busy_ns + thread.waiting_ns;
  EXPECT_EQ(sum, 2 * row.threads.time_ns);
  EXPECT_DOUBLE_EQ(row.threads.Efficiency().value(), 0.8);
}

TEST(ThreadUsage, HasNoEfficiencyWithoutThreads) {
  ThreadUsage usage;
  usage.parallel_ns = 1000;
  EXPECT_FALSE(usage.Efficiency());
}

}  // namespace
}  // namespace etprof
