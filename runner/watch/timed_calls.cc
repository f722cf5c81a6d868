#include "watch/timed_calls.h"

#include <array>
#include <span>
#include <utility>

#include "timing/operator_clock.h"
#include "watch/trampolines.h"
#include "watch/wrapped_calls.h"

namespace etprof::runner {
namespace {

struct CallTotals {
  std::int64_t ns = 0, calls = 0;
};
std::array<CallTotals, 3> totals_by_kind;
std::size_t timed_thread = 0;

// A call that has not returned yet.
class TimedCall;
TimedCall* innermost_call = nullptr;
class TimedCall {
 public:
  using Function = TimedCalls::Kind;
  TimedCall(Function kind, std::span<const CallWord>)
      : kind_(kind), is_timed_(ThreadIndex() == timed_thread) {
    if (!is_timed_) return;
    outer_ = std::exchange(innermost_call, this);
    begin_ = MonotonicNow();
  }
  ~TimedCall() {
    if (!is_timed_) return;
    const std::int64_t time = MonotonicNow() - begin_;
    CallTotals& sums = totals_by_kind[static_cast<std::size_t>(kind_)];
    sums.ns += time - nested_ns_;
    ++sums.calls;
    if (outer_ != nullptr) outer_->nested_ns_ += time;
    innermost_call = outer_;
  }
  TimedCall(TimedCall&&) = delete;

 private:
  const TimedCalls::Kind kind_;
  const bool is_timed_;
  TimedCall* outer_ = nullptr;
  std::int64_t begin_ = 0, nested_ns_ = 0;
};

using WrappedTimedCalls = WrappedCalls<TimedCall, TimedCalls::kMaxFunctions>;

}  // namespace

TimedCalls::TimedCalls() {
  WrappedTimedCalls::Clear();
  totals_by_kind = {};
  timed_thread = ThreadIndex();
}

void* TimedCalls::MakeTimed(Kind kind, void* function) { return WrappedTimedCalls::Wrap(function, kind); }

std::int64_t TimedCalls::TotalNs(Kind kind) const {
  return totals_by_kind[static_cast<std::size_t>(kind)].ns;
}
std::int64_t TimedCalls::CallCounts(Kind kind) const {
  return totals_by_kind[static_cast<std::size_t>(kind)].calls;
}

}  // namespace etprof::runner
