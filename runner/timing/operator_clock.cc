#include "timing/operator_clock.h"

#include <time.h>

#include <atomic>

#include "inference/libraries.h"

#if defined(__linux__)
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace etprof::runner {
namespace {

// The executable segments of the libraries with the fast clock, and the time at which that clock starts.
// Plain atomics with constant initialization, since clock_gettime may be called before any constructor has
// run.
struct FastSegment {
  std::atomic<std::uintptr_t> begin{0}, size{0};

  bool Contains(std::uintptr_t address) const {
    return address - begin.load(std::memory_order_relaxed) < size.load(std::memory_order_relaxed);
  }
};
FastSegment fast_xnnpack, fast_tracer;
std::atomic<std::int64_t> fast_origin_ns{0};

[[maybe_unused]] std::atomic<void (*)()> boundary_hook{nullptr};

}  // namespace

void SetBoundaryHook(void (*hook)()) { boundary_hook = hook; }

bool HasFastClock(const void* code) {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  return fast_xnnpack.Contains(address) || fast_tracer.Contains(address);
}

std::int64_t MonotonicNow() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

bool UseFastClockIn(const void* xnnpack, const void* tracer) {
  fast_origin_ns = MonotonicNow();
  const auto set = [](const void* code, FastSegment& segment) {
    const auto found = FindCodeSegment(code);
    if (found) segment.begin = found->begin, segment.size = found->size;
    return found.has_value();
  };
  return set(tracer, fast_tracer) && set(xnnpack, fast_xnnpack);
}

}  // namespace etprof::runner

#if defined(__linux__)

// All libraries of this process find this function before the C library's (the linker option
// --export-dynamic-symbol puts it into the dynamic symbol table). Except for XNNPACK's library, it acts as
// the C library's.
//
// No other code in libexecutorch_backend_xnnpack.so depends on the time: `objdump -d` of 1.5.1 shows two
// calls, both in xnn_invoke_runtime, before the first operator and after each. The library has no timed wait
// and no sleep (the thread pool is another library), so that nothing in it can wait too briefly.
//
// XNNPACK computes (end.tv_sec - start.tv_sec) * 1'000'000 + (end.tv_nsec - start.tv_nsec) / 1000 (its
// src/runtime.c). The scaled time makes this exact (tv_nsec is a multiple of 1000). It starts at the call of
// UseFastClockIn instead of at boot: a scaled second is a millisecond, so even a 32-bit tv_sec lasts 24 days.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec* time) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static std::atomic<Function> real{nullptr};
  Function function = real.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "clock_gettime"));
    if (function == nullptr) return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
    real.store(function, std::memory_order_relaxed);
  }
  const int result = function(clock, time);
  if (result == 0 && clock == CLOCK_MONOTONIC && etprof::runner::HasFastClock(__builtin_return_address(0))) {
    const std::int64_t elapsed = static_cast<std::int64_t>(time->tv_sec) * 1'000'000'000 + time->tv_nsec -
                                 etprof::runner::fast_origin_ns.load(std::memory_order_relaxed);
    time->tv_sec = static_cast<time_t>(elapsed / 1'000'000);
    time->tv_nsec = static_cast<long>(elapsed % 1'000'000 * 1000);
    if (auto* const hook = etprof::runner::boundary_hook.load(std::memory_order_relaxed); hook != nullptr)
      hook();
  }
  return result;
}

#endif
