#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// How long this process wanted a processor and had none. A run that another process interrupts takes longer
// for a reason that has nothing to do with the model, and a long run is interrupted more often than a short
// one, so alternating short bursts does not cancel it out.
namespace etprof::runner {

// One reading, cumulative since the process or the system started. -1: the system does not say.
struct WaitReading {
  std::int64_t wall_ns = 0;      // CLOCK_MONOTONIC
  std::int64_t main_cpu_ns = 0;  // processor time of the calling thread
  std::int64_t cpu_ns = 0;       // processor time of all threads
  std::int64_t run_delay_ns =
      -1;  // all threads: runnable, but not running (/proc/self/task/TID/schedstat, the second number)
  std::int64_t voluntary = -1;  // context switches of the calling thread that it asked for: it blocked
  std::int64_t stops = 0;       // SIGCONT received (CountStops): the process had been stopped
};

// The time between two readings for which the threads wanted a processor and had none, as the larger of:
//  - the run delay of all threads together;
//  - the wall time less the processor time of the calling thread, where that did not block by itself, or
//  where
//    the process was stopped.
// The second finds what a run delay does not show: stops, throttling by a quota, and on virtual machines
// processors that the host took away.
// Never negative.
std::int64_t Waited(const WaitReading& before, const WaitReading& after);

// Reads all of it. Not for use within a timed section: a reading takes about 0.5 µs and 0.3 µs more for every
// thread (docs/reference/runner.md#waiting).
class WaitMeter {
 public:
  // Knows the threads that exist now.
  WaitMeter();
  ~WaitMeter();
  WaitMeter(WaitMeter&&) = delete;

  WaitReading Read() const;
  // The processor time of each thread that existed when this was made, the largest first; empty: not known.
  // Exact to a scheduler's tick.
  std::vector<std::int64_t> ThreadTimes() const;

 private:
  std::vector<int> threads_;  // open files
};

// Which of the sources of Waited this system has: protocol::kSchedstat (all), kThreadTime (no run delay).
const char* WaitSource();

// From now on SIGCONT is counted. Idempotent.
void CountStops();

// Times, cumulative since the system or the control group began, for which this process could not run.
// Absent: not known.
struct BurstWaits {
  std::optional<std::int64_t> steal_ns;      // the host ran something else on `cpu` (/proc/stat)
  std::optional<std::int64_t> throttled_ns;  // the control group had used up its quota (cpu.stat)
};
BurstWaits ReadBurstWaits(std::optional<int> cpu);

// "12345 678 9": nanoseconds running, nanoseconds of run delay, time slices (Documentation/scheduler/
// sched-stats.rst of Linux). Absent: anything else.
struct Schedstat {
  std::int64_t running_ns = 0, delay_ns = 0;
};
std::optional<Schedstat> ParseSchedstat(std::string_view text);
// The eighth number of the line "cpuN ..." of /proc/stat, in clock ticks (man 5 proc). Absent: no such line,
// or it is cut short.
std::optional<std::int64_t> ParseSteal(std::string_view stat, int cpu);

}  // namespace etprof::runner
