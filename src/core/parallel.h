#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace etprof {

// Calls `work(0)` ... `work(count - 1)` on up to `threads` threads (0: one per core of the machine). Returns
// when all calls are done. If some calls throw, all others still run, and then the exception with the lowest
// index is rethrown.
void ParallelFor(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

// Calls `work(first, end)` for the parts of [0, count). Each part has `part` elements, the last one may have
// fewer.
void ParallelForParts(std::size_t count, std::size_t part, std::size_t threads,
                      const std::function<void(std::size_t, std::size_t)>& work);

// The number of threads that `threads` = 0 selects above; at least 1.
std::size_t HardwareThreads();

// A group of threads, for work that waits more than it computes or that needs a thread of its own. The
// destructor waits for all of them.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup() { Join(); }
  ThreadGroup(ThreadGroup&&) = delete;

  // Calls `work` on a new thread; `work` must not throw. False if the system cannot start a thread: then
  // `work` is not called.
  [[nodiscard]] bool Start(std::function<void()> work);
  // Waits for all threads that were started.
  void Join();

 private:
  std::vector<std::thread> threads_;
};

}  // namespace etprof
