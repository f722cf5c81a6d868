#include "watch/timed_calls.h"

#include <array>
#include <utility>

#include "timing/operator_clock.h"
#include "watch/trampolines.h"

namespace etprof::runner {
namespace {

using TimedWord = std::uintptr_t;

// Registers for integers and pointers: System V ABI, AMD64 supplement, 3.2.3; AAPCS64, 6.4.1. Both have eight
// registers for floating-point numbers, and pass further arguments as one word each on the stack. Passing
// more words than a function reads is harmless: they are on the caller's own stack.
#if defined(__aarch64__)
constexpr std::size_t kWholeRegisters = 8;
#else
constexpr std::size_t kWholeRegisters = 6;
#endif
constexpr std::size_t kFloatRegisters = 8;

struct TimedFunction {
  void* function = nullptr;
  TimedCalls::Kind kind = TimedCalls::Kind::kGraph;
};
std::array<TimedFunction, TimedCalls::kMaxFunctions> timed_functions;
std::size_t timed_function_count = 0;

struct TimedKind {
  std::int64_t ns = 0, calls = 0;
};
std::array<TimedKind, 3> timed_kinds;
std::size_t timed_thread = 0;

// A call that has not returned yet.
class TimedCall;
TimedCall* innermost_call = nullptr;
class TimedCall {
 public:
  explicit TimedCall(TimedCalls::Kind kind) : kind_(kind), counts_(ThreadIndex() == timed_thread) {
    if (!counts_) return;
    outer_ = std::exchange(innermost_call, this);
    begin_ = MonotonicNow();
  }
  ~TimedCall() {
    if (!counts_) return;
    const std::int64_t time = MonotonicNow() - begin_;
    TimedKind& sums = timed_kinds[static_cast<std::size_t>(kind_)];
    sums.ns += time - inside_;
    ++sums.calls;
    if (outer_ != nullptr) outer_->inside_ += time;
    innermost_call = outer_;
  }
  TimedCall(TimedCall&&) = delete;

 private:
  const TimedCalls::Kind kind_;
  const bool counts_;
  TimedCall* outer_ = nullptr;
  std::int64_t begin_ = 0, inside_ = 0;
};

template <typename T, std::size_t>
using Same = T;

template <typename Whole, typename Float, typename Stack>
struct TimedEntries;
template <std::size_t... whole, std::size_t... number, std::size_t... stack>
struct TimedEntries<std::index_sequence<whole...>, std::index_sequence<number...>,
                    std::index_sequence<stack...>> {
  using Function = TimedWord (*)(Same<TimedWord, whole>..., Same<double, number>...,
                                 Same<TimedWord, stack>...);

  template <std::size_t index>
  static TimedWord Entry(Same<TimedWord, whole>... w, Same<double, number>... n,
                         Same<TimedWord, stack>... s) {
    const TimedFunction& timed = timed_functions[index];
    const TimedCall call(timed.kind);
    return reinterpret_cast<Function>(timed.function)(w..., n..., s...);
  }
  template <std::size_t... index>
  static constexpr std::array<Function, sizeof...(index)> All(std::index_sequence<index...>) {
    return {&Entry<index>...};
  }
};
using Timed =
    TimedEntries<std::make_index_sequence<kWholeRegisters>, std::make_index_sequence<kFloatRegisters>,
                 std::make_index_sequence<TimedCalls::kMaxStackWords>>;
constexpr auto kTimedEntries = Timed::All(std::make_index_sequence<TimedCalls::kMaxFunctions>());

}  // namespace

TimedCalls::TimedCalls() {
  timed_function_count = 0;
  timed_kinds = {};
  timed_thread = ThreadIndex();
}

void* TimedCalls::MakeTimed(Kind kind, void* function) {
  if (timed_function_count == kMaxFunctions) return function;
  timed_functions[timed_function_count] = {function, kind};
  return reinterpret_cast<void*>(kTimedEntries[timed_function_count++]);
}

std::int64_t TimedCalls::TotalNs(Kind kind) const { return timed_kinds[static_cast<std::size_t>(kind)].ns; }
std::int64_t TimedCalls::CallCounts(Kind kind) const {
  return timed_kinds[static_cast<std::size_t>(kind)].calls;
}

}  // namespace etprof::runner
