#pragma once

#include <cstdint>

// The operator clock (docs/reference/runner.md). XNNPACK takes clock_gettime(CLOCK_MONOTONIC) when it begins
// a subgraph and after every operator, and reports the differences in whole microseconds, so that an operator
// of 51 ns reads as 0. The runner exports its own clock_gettime, which gives the calls that come out of the
// XNNPACK library a clock that runs 1000 times as fast: XNNPACK's "microseconds" are then nanoseconds, and
// the tracer (tracer.h) divides them again.
namespace etprof::runner {

// From now on calls of clock_gettime that come from the library which holds `address` read the fast clock.
// Returns whether that works here (Linux; elsewhere the plain clock stays).
bool SpeedUpClockOf(const void* address);

// Whether `code` lies in the library whose clock is sped up.
bool HasFastClock(const void* code);

inline constexpr std::uint64_t kClockFactor = 1000;

// From now on `hook` is called after each reading of the fast clock: at every operator boundary of XNNPACK.
// nullptr: nothing is. It must not throw.
void CallAtBoundaries(void (*hook)());

// CLOCK_MONOTONIC, nanoseconds.
std::int64_t MonotonicNow();

}  // namespace etprof::runner
