#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/parallel.h"
#include "protocol/peaks.h"

namespace etprof::runner {

// A team of threads that do the same work at the same time. They wait for each other by spinning, so that no
// core enters a sleep state between two tries; if there are more threads than CPUs, they yield.
class ThreadTeam {
 public:
  // The calling thread is a member. Threads inherit the caller's CPUs.
  explicit ThreadTeam(int threads);
  ~ThreadTeam() { StopThreads(); }
  ThreadTeam(ThreadTeam&&) = delete;

  int threads() const { return static_cast<int>(results_.size()); }

  // Every thread calls `chunk` with its index repeatedly for `window_ns`, at least once; `chunk` returns the
  // amount of work done. Returns the total work per second, from the first start to the last end, so that
  // slow cores, and threads that share a CPU, count with the work that they do. `chunk` must not throw.
  double Run(std::int64_t window_ns, const std::function<std::int64_t(int)>& chunk);

 private:
  struct alignas(64) Result {
    std::int64_t work = 0, start_ns = 0, end_ns = 0;
  };
  void StartGeneration() { generation_.fetch_add(1); }
  void StopThreads();
  void RunThread(int number);
  void Work(int number);

  std::vector<Result> results_;                              // indexed by thread
  const std::function<std::int64_t(int)>* chunk_ = nullptr;  // published by generation_
  std::int64_t window_ns_ = 0;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::size_t> finished_{0};
  ThreadGroup workers_;  // destroyed first, since the threads use the other members
};

struct PeakTimes {
  int tries = 40;
  std::int64_t try_ns = 1'000'000;
  std::int64_t warm_up_ns = 8'000'000;
  std::int64_t chunk_ns = 20'000;  // target time of a chunk, after which the clock is read
};

// Measures the peaks with `threads` threads, but at most one for each CPU that the process may use, and with
// the instructions that `peaks.isa_state` enables. Fills all of `peaks` except for cpus, isa, and isa_state.
// Throws Error (kDeviceFailed) if an instruction gives a wrong result, which means that the CPU lacks a
// feature that it reports.
void MeasurePeaks(int threads, const PeakTimes& times, protocol::Peaks& peaks);

}  // namespace etprof::runner
