#pragma once

#include <cstdint>

// The operator clock (docs/reference/runner.md). XNNPACK calls clock_gettime(CLOCK_MONOTONIC) before a
// subgraph and after every operator, and reports the differences in whole microseconds, so that an operator
// of 51 ns reads as 0. The runner exports its own clock_gettime, which returns a clock that is 1000 times as
// fast to calls from the XNNPACK library: XNNPACK's "microseconds" are then nanoseconds, and the tracer
// (tracer.h) divides its times accordingly.
namespace etprof::runner {

// Makes later calls of clock_gettime from the library that contains `xnnpack` read the fast clock. `tracer`
// is an address in the library that reports XNNPACK's times: the same library, or the tracer for older
// ExecuTorch releases (runtimes/portable_tracer.cc). Returns true on success, and false on other systems than
// Linux, which keep the normal clock.
bool UseFastClockIn(const void* xnnpack, const void* tracer);

// True if `code` is in a library with the fast clock.
bool HasFastClock(const void* code);

inline constexpr std::uint64_t kClockFactor = 1000;

// Sets a function to call after each reading of the fast clock: at every operator boundary of XNNPACK.
// nullptr: none. The function must not throw.
void SetBoundaryHook(void (*hook)());

// CLOCK_MONOTONIC, nanoseconds.
std::int64_t MonotonicNow();

}  // namespace etprof::runner
