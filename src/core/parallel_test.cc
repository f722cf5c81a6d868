#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace etprof {
namespace {

TEST(ParallelFor, DoesEveryIndexOnce) {
  for (const std::size_t threads : {0U, 1U, 2U, 7U}) {
    std::vector<std::atomic<int>> calls(100);
    ParallelFor(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
  ParallelFor(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ParallelFor, UsesNoMoreThreadsThanAsked) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  ParallelFor(1000, 3, [&](std::size_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_LE(seen.size(), 3U);
}

TEST(ParallelFor, ThrowsTheFirstAndFinishesTheRest) {
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

}  // namespace
}  // namespace etprof
