#pragma once

#include <optional>

#include "core/units.h"

namespace etprof {

// A run is clean if its threads had a processor whenever they wanted one. Only clean runs are compared: a run
// of 5 ms nearly always loses a time slice to a busy process, a run of 1 ms almost never, so that contention
// changes the ratio of two latencies, which alternating them does not cancel out.
//
// The rule: since the end of the run before, the threads waited for at most 1% of the run's own time, or for
// 3 µs. Waiting between two runs counts because whoever had the processor meanwhile left its data in the
// caches. On an idle two-core virtual machine 99% of the runs wait for less than 2 µs (timer interrupts),
// while a run that was interrupted waits for a time slice, 3 to 5 ms: nothing lies between, and the limits
// could be three times as high or a third. What a clean run may still have lost biases a latency by less than
// 1%, and by 0.1% in the mean of those measured. A run that follows an interrupted one is as fast as the
// others within 0.3%: the interrupted run has filled the caches again.
inline constexpr double kCleanShare = 0.01;
inline constexpr Nanoseconds kCleanWait = 3'000;

// `wait` absent: it is not known, and the run counts as clean.
inline bool IsCleanRun(Nanoseconds latency, std::optional<Nanoseconds> wait) {
  return !wait || *wait <= kCleanWait ||
         static_cast<double>(*wait) <= kCleanShare * static_cast<double>(latency);
}

// The time for which a host ran something else on a virtual processor is counted in clock ticks (10 ms), so
// that it cannot be put down to single runs: a burst that has lost more than 1% of its time has no clean run.
inline bool LostToTheHost(std::optional<Nanoseconds> steal, Nanoseconds burst) {
  return steal && static_cast<double>(*steal) > kCleanShare * static_cast<double>(burst);
}

}  // namespace etprof
