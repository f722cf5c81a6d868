#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "protocol/peaks.h"

namespace etprof::runner {

// Threads that do the same at the same time.
class Team {
 public:
  // The caller is one of them. Threads inherit the caller's CPUs.
  explicit Team(int threads);
  ~Team();
  Team(Team&&) = delete;

  int threads() const { return threads_; }

  // Every thread calls `chunk` with its number again and again for `window_ns`, once at least; `chunk`
  // returns how much it did. Returns all that was done per second, from the first start to the last end: fast
  // and slow cores, and threads that share a CPU, count as what they do. `chunk` does not throw.
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
  std::int64_t chunk_ns = 20'000;  // between two looks at the clock
};

// Measures the roofs with `threads` threads on the CPUs that the process may use, by the instructions that
// `peaks.isa_state` leaves enabled. Fills all of `peaks` but cpus, isa and isa_state. Throws Error
// (kDeviceFailed) when an instruction does not give the result that it should: the CPU has not what it says.
void MeasurePeaks(int threads, const PeakTimes& times, protocol::Peaks& peaks);

}  // namespace etprof::runner
