#pragma once

#include <cstddef>
#include <cstdint>

namespace etprof::runner {

// Replacements for functions (wrapped_calls.h) that measure the time of their calls. Only calls of the thread
// that created the object are timed, and nested calls only count for the inner function. Only one object may
// exist at a time.
class TimedCalls {
 public:
  static constexpr std::size_t kMaxFunctions = 256;
  enum class Kind { kGraph, kCreate, kPack };

  TimedCalls();
  TimedCalls(TimedCalls&&) = delete;

  // Returns a function that calls `function` and measures its time. Returns `function` itself if there are
  // too many functions.
  void* MakeTimed(Kind kind, void* function);

  // Nanoseconds in calls of this kind, without nested calls.
  std::int64_t TotalNs(Kind kind) const;
  std::int64_t CallCounts(Kind kind) const;
};

}  // namespace etprof::runner
