#include "core/parallel.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace etprof {
namespace {

TEST(ThreadGroup, WaitsForItsThreads) {
  std::atomic<int> done = 0;
  {
    ThreadGroup threads;
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(threads.Start([&] { ++done; }));
    threads.Join();
    EXPECT_EQ(done, 5);
    EXPECT_TRUE(threads.Start([&] { ++done; }));
  }
  EXPECT_EQ(done, 6);
}

#ifdef __GLIBC__
TEST(ThreadGroup, ReportsAFailureToStart) {
  pthread_attr_t before, huge;
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(::pthread_attr_init(&huge), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 47U), 0);  // larger than the address space
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  ThreadGroup threads;
  EXPECT_FALSE(threads.Start([] { FAIL(); }));
  ASSERT_EQ(::pthread_setattr_default_np(&before), 0);
  EXPECT_TRUE(threads.Start([] {}));
}
#endif

TEST(ParallelFor, DoesEveryIndexOnce) {
  for (const std::size_t threads : {0U, 1U, 2U, 7U}) {
    std::vector<std::atomic<int>> calls(100);
    ParallelFor(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
  ParallelFor(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ParallelFor, UsesNoMoreThreadsThanRequested) {
  std::mutex mutex;
  std::set<std::thread::id> thread_ids;
  ParallelFor(1000, 3, [&](std::size_t) {
    const std::lock_guard lock(mutex);
    thread_ids.insert(std::this_thread::get_id());
  });
  EXPECT_LE(thread_ids.size(), 3U);
}

TEST(ParallelFor, RethrowsTheFirstExceptionAfterAllCalls) {
  std::atomic<int> done = 0;
  try {
    ParallelFor(50, 4, [&](std::size_t i) {
      if (i == 7 || i == 30) throw std::runtime_error(std::to_string(i));
      ++done;
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "7");
  }
  EXPECT_EQ(done, 48);
}

TEST(ParallelFor, WorksWithinItselfAndFromSeveralThreads) {
  std::atomic<int> done = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        ParallelFor(5, 0, [&](std::size_t) { ParallelFor(7, 3, [&](std::size_t) { ++done; }); });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 4 * 50 * 5 * 7);
}

TEST(ParallelFor, WorksInAFork) {
  ParallelFor(2, 2, [](std::size_t) {});  // the parent has pool threads, which the fork does not have
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<int> done = 0;
    for (int round = 0; round < 20; ++round) ParallelFor(10, 2, [&](std::size_t) { ++done; });
    ::_exit(done == 200 ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

#ifdef __linux__
TEST(ParallelFor, LeavesSignalsAndProcessorsAsTheyWere) {
  cpu_set_t before, after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  std::atomic<int> wrong_masks = 0, wrong_affinities = 0;
  const std::thread::id caller = std::this_thread::get_id();
  ParallelFor(100, 2, [&](std::size_t) {
    sigset_t mask;
    cpu_set_t affinity;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    ::sched_getaffinity(0, sizeof(affinity), &affinity);
    if (CPU_EQUAL(&affinity, &before) == 0) ++wrong_affinities;
    if ((std::this_thread::get_id() != caller) != (sigismember(&mask, SIGINT) == 1)) ++wrong_masks;
  });
  ASSERT_EQ(::sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&after, &before));
  EXPECT_EQ(wrong_affinities, 0) << "threads are bound to processors";
  EXPECT_EQ(wrong_masks, 0) << "a pool thread receives SIGINT, or the caller does not";
}
#endif

}  // namespace
}  // namespace etprof
