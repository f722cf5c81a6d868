#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace etprof {

// Calls `work(0)` ... `work(count - 1)`, on up to `threads` threads at once (0: as many as the machine has
// cores). Returns when all are done. If some throw, the exception of the lowest index goes on; the others'
// calls are finished first.
void ParallelFor(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

// Likewise `work(first, end)` for parts of [0, count), of `part` each but for the last.
void ParallelForParts(std::size_t count, std::size_t part, std::size_t threads,
                      const std::function<void(std::size_t, std::size_t)>& work);

// The number of threads that 0 stands for; at least 1.
std::size_t HardwareThreads();

// Threads of one's own, for work that waits more than it computes, or that stays on one thread. When this
// goes away, it waits for all of them.
class Threads {
 public:
  Threads() = default;
  ~Threads() { Join(); }
  Threads(Threads&&) = delete;

  // Calls `work`, which throws nothing, on a new thread. False where the system starts no more: then nothing
  // is called.
  [[nodiscard]] bool Start(std::function<void()> work);
  // Waits for all that were started.
  void Join();

 private:
  std::vector<std::thread> threads_;
};

}  // namespace etprof
