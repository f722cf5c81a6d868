#pragma once

#include <cstddef>
#include <cstdint>

namespace etprof::runner {

// Stand-ins for functions that take the time of their calls: of whole numbers, pointers, and floating-point
// numbers up to kMostStackWords that do not fit into registers, and with a whole number or nothing as their
// result. Calls of the thread that made this are timed, those inside another as their own only. One at a
// time.
class TimedCalls {
 public:
  static constexpr std::size_t kMostFunctions = 256, kMostStackWords = 32;
  enum class Kind { kGraph, kCreate, kPack };

  TimedCalls();
  TimedCalls(TimedCalls&&) = delete;

  // What calls `function` and takes its time; `function` itself where there are too many.
  void* StandIn(Kind kind, void* function);

  // Nanoseconds in calls of this kind, without calls of others in them.
  std::int64_t TimeOf(Kind kind) const;
  std::int64_t CallsOf(Kind kind) const;
};

}  // namespace etprof::runner
