#pragma once

#include <cstddef>
#include <functional>

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

}  // namespace etprof
