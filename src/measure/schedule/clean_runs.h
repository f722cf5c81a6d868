#pragma once

#include <optional>

#include "core/units.h"

namespace etprof {

// A run is clean if its threads had a processor whenever they wanted one. Only clean runs are compared: a run
// of 5 ms nearly always loses a time slice to a busy process, a run of 1 ms almost never, so contention
// changes the ratio of two latencies, and interleaving does not cancel that.
//
// The rule: since the end of the previous run, the threads waited for at most 1% of the run's own time, or
// for at most 3 µs. Waiting between two runs counts because another process that had the processor meanwhile
// left its data in the caches. On an idle two-core virtual machine 99% of the runs wait for less than 2 µs
// (timer interrupts), while an interrupted run waits for a time slice of 3 to 5 ms. There is nothing in
// between, so the limits could be three times as high or a third as high. The remaining waiting of clean runs
// biases a single latency by less than 1%, and the mean of those measured by 0.1%. A run after an interrupted
// one is as fast as the others within 0.3%, since the interrupted run has filled the caches again.
inline constexpr double kMaxCleanWaitShare = 0.01;
inline constexpr Nanoseconds kMaxCleanWait = 3'000;

// `wait` absent: not known; the run then counts as clean.
inline bool IsCleanRun(Nanoseconds latency, std::optional<Nanoseconds> wait) {
  return !wait || *wait <= kMaxCleanWait ||
         static_cast<double>(*wait) <= kMaxCleanWaitShare * static_cast<double>(latency);
}

// Steal time (the host ran something else on a virtual processor) is counted in clock ticks of 10 ms, so it
// cannot be attributed to single runs: a burst that lost more than 1% of its time has no clean run.
inline bool HasExcessiveSteal(std::optional<Nanoseconds> steal, Nanoseconds burst) {
  return steal && static_cast<double>(*steal) > kMaxCleanWaitShare * static_cast<double>(burst);
}

}  // namespace etprof
