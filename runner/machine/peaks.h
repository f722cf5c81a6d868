#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "protocol/peaks.h"

namespace etprof::runner {

// A team of threads that do the same work at the same time.
class Team {
 public:
  // The calling thread is a member. Threads inherit the caller's CPUs.
  explicit Team(int threads);
  ~Team();
  Team(Team&&) = delete;

  int threads() const { return threads_; }

  // Every thread calls `chunk` with its index repeatedly for `window_ns`, at least once; `chunk` returns the
  // amount of work done. Returns the total work per second, from the first start to the last end, so that
  // slow cores, and threads that share a CPU, count with what they do. `chunk` must not throw.
  double Run(std::int64_t window_ns, const std::function<std::int64_t(int)>& chunk);

 private:
  class Members;
  int threads_;
  std::unique_ptr<Members> members_;
};

struct PeakTimes {
  int tries = 40;
  std::int64_t try_ns = 1'000'000;
  std::int64_t warm_up_ns = 8'000'000;
  std::int64_t chunk_ns = 20'000;  // target time of a chunk, after which the clock is read
};

// Measures the peaks with `threads` threads on the CPUs that the process may use, with the instructions that
// `peaks.isa_state` enables. Fills all of `peaks` except for cpus, isa, and isa_state. Throws Error
// (kDeviceFailed) if an instruction gives a wrong result, which means that the CPU lacks a feature that it
// reports.
void MeasurePeaks(int threads, const PeakTimes& times, protocol::Peaks& peaks);

}  // namespace etprof::runner
