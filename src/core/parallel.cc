#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace etprof {

std::size_t HardwareThreads() { return std::max(1U, std::thread::hardware_concurrency()); }

void ParallelFor(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  threads = std::min(threads == 0 ? HardwareThreads() : threads, count);
  std::vector<std::exception_ptr> thrown(count);
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t index = next++; index < count; index = next++) {
      try {
        work(index);
      } catch (...) {
        thrown[index] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(run);
    } catch (const std::system_error&) {
      // A limit of the process: those that there are do it all.
    }
    run();
  }
  for (const std::exception_ptr& exception : thrown) {
    if (exception) std::rethrow_exception(exception);
  }
}

void ParallelForParts(std::size_t count, std::size_t part, std::size_t threads,
                      const std::function<void(std::size_t, std::size_t)>& work) {
  ParallelFor((count + part - 1) / part, threads,
              [&](std::size_t index) { work(index * part, std::min(count, (index + 1) * part)); });
}

}  // namespace etprof
