#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/file/descriptor.h"

// Measures how long this process waited for a processor. A run that another process interrupts takes longer
// for a reason that is unrelated to the model. Long runs are interrupted more often than short runs, so
// interleaving short bursts does not cancel the effect.
namespace etprof::runner {

// A reading; the values are cumulative since the process or the system started. -1: not known.
struct WaitReading {
  std::int64_t wall_ns = 0;        // CLOCK_MONOTONIC
  std::int64_t main_cpu_ns = 0;    // processor time of the calling thread
  std::int64_t cpu_ns = 0;         // processor time of all threads
  std::int64_t run_delay_ns = -1;  // time runnable but not running, all threads (schedstat's second number)
  std::int64_t voluntary_switches = -1;  // context switches of the calling thread because it blocked
  std::int64_t stops = 0;                // SIGCONTs received (CountStops): the process had been stopped
};

// The time between two readings in which the threads waited for a processor; never negative. It is the larger
// of:
// - the run delay of all threads together;
// - the wall time minus the calling thread's CPU time, if that thread did not block, or if the process was
// stopped.
// The second covers waiting that the run delay does not contain: stops, throttling by a quota, and processors
// that a host takes away from a virtual machine.
std::int64_t WaitedTime(const WaitReading& before, const WaitReading& after);

// Takes readings. Not for use within a timed section: a reading takes about 0.5 µs plus 0.3 µs per thread
// (docs/reference/runner.md#waiting).
class WaitMeter {
 public:
  // Measures the threads that exist at construction.
  WaitMeter();

  WaitReading Read() const;
  // The CPU time of each thread that existed at construction, largest first; empty: not known. Exact to a
  // scheduler tick.
  std::vector<std::int64_t> ThreadTimes() const;

 private:
  std::vector<Descriptor> threads_;  // open files of the threads' schedstat
};

// The source that WaitedTime() has on this system: protocol::kSchedstat (everything), or kThreadTime (no run
// delay).
const char* DetectWaitSource();

// Starts counting SIGCONT. Idempotent.
void CountStops();

// Times, cumulative since the system or the cgroup began, in which this process could not run. Absent: not
// known.
struct BurstWaits {
  std::optional<std::int64_t> steal_ns;      // the host ran something else on `cpu` (/proc/stat)
  std::optional<std::int64_t> throttled_ns;  // the cgroup was throttled by its quota (cpu.stat)
};
BurstWaits ReadBurstWaits(std::optional<int> cpu);

// Parses "12345 678 9": ns running, ns of run delay, time slices (Documentation/scheduler/sched-stats.rst of
// Linux). Absent for anything else.
struct Schedstat {
  std::int64_t running_ns = 0, delay_ns = 0;
};
std::optional<Schedstat> ParseSchedstat(std::string_view text);
// The eighth number of the line "cpuN ..." in /proc/stat, in clock ticks (man 5 proc). Absent: the line is
// missing or truncated.
std::optional<std::int64_t> ParseSteal(std::string_view stat, int cpu);

}  // namespace etprof::runner
