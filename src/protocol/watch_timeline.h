#pragma once

// When each operator and each thread worked in one of the watched runs: part of the reply to {"cmd":
// "watch"}.

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/describe.h"

namespace etprof::protocol {

// What one thread did in one parallel region: from its first task to the end of its last. Times are
// nanoseconds since the run's begin.
struct WatchedSlice {
  std::int64_t thread = 0;  // index of WatchedOperator::threads
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t busy_ns = 0;  // of these, in tasks
  std::int64_t tasks = 0;

  static constexpr const char* kSchemaName = "watched_slice";
  static void Describe(auto& v) {
    v("thread", &WatchedSlice::thread, {.meaning = "index of the operator's `threads`"});
    v("begin_ns", &WatchedSlice::begin_ns, {.meaning = "of its first task in a parallel region"});
    v("end_ns", &WatchedSlice::end_ns, {.meaning = "of its last task there"});
    v("busy_ns", &WatchedSlice::busy_ns, {.meaning = "in tasks"});
    v("tasks", &WatchedSlice::tasks, {.least = 1});
  }
};

struct WatchedSpan {
  std::int64_t op = 0;  // index into WatchReply::operators
  std::int64_t begin_ns = 0, end_ns = 0;
  std::vector<WatchedSlice> slices;  // of regions that no operator inside has

  static constexpr const char* kSchemaName = "watched_span";
  static void Describe(auto& v) {
    v("operator", &WatchedSpan::op, {.meaning = "index of the list of operators"});
    v("begin_ns", &WatchedSpan::begin_ns, {.meaning = "since the begin of the run"});
    v("end_ns", &WatchedSpan::end_ns, {.meaning = "since the begin of the run"});
    v("slices", &WatchedSpan::slices, {.meaning = "of parallel regions that no operator inside it has"});
  }
};

struct WatchedTimeline {
  static constexpr std::int64_t kMostSlices = 20'000;

  std::int64_t begin_ns = 0;       // of the run, CLOCK_MONOTONIC
  std::vector<WatchedSpan> spans;  // parents before children
  std::int64_t left_out = 0;       // slices beyond kMostSlices

  static constexpr const char* kSchemaName = "watched_timeline";
  static void Describe(auto& v) {
    using T = WatchedTimeline;
    v("begin_ns", &T::begin_ns, {.meaning = "of the run, of CLOCK_MONOTONIC"});
    v("spans", &T::spans, {.meaning = "parents before children"});
    v("left_out", &T::left_out, {.meaning = "slices that are not here: there are too many"});
  }
  // `operators` and `threads`: how many there are. Throws std::invalid_argument.
  void CheckPlaces(std::size_t operators, std::int64_t threads) const {
    for (const WatchedSpan& span : spans) {
      if (span.op < 0 || span.op >= static_cast<std::int64_t>(operators))
        throw std::invalid_argument("the timeline has an operator that is not in the list");
      if (span.begin_ns < 0 || span.end_ns < span.begin_ns)
        throw std::invalid_argument("an operator of the timeline ends before it begins");
      for (const WatchedSlice& slice : span.slices) {
        if (slice.thread < 0 || slice.thread >= threads)
          throw std::invalid_argument("the timeline has a thread that the process has not");
        if (slice.begin_ns < span.begin_ns || slice.end_ns < slice.begin_ns || slice.end_ns > span.end_ns)
          throw std::invalid_argument("a thread's tasks lie outside of their operator");
      }
    }
  }
};

}  // namespace etprof::protocol
