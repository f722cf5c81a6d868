#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.h"

namespace etprof {

struct Profile;
struct Trace;

// The spans of some traced runs, which can be drawn without the trace.
struct SampledRuns {
  // The spans of a run, parents before children, siblings in order of time. Runs with equal spans share a
  // shape.
  struct Shape {
    std::vector<std::int32_t> op;  // index into Profile::operators
    std::vector<int> depth;        // 0: Method::execute
    bool operator==(const Shape&) const = default;
  };
  struct Run {
    std::size_t run = 0;    // index into Profile::runs
    std::size_t shape = 0;  // index into `shapes`
    // By span of the shape, in ns. `gap` is the time from the end of the previous sibling (from the parent's
    // start for the first child) to the span's start. Neither value is negative (PlacedSpan).
    std::vector<Nanoseconds> gap, duration;
  };
  std::vector<Shape> shapes;
  std::vector<Run> runs;              // in the order of the trace
  std::optional<std::size_t> median;  // index into `runs` of the run MedianRun()
};

// The run with the median time of Method::execute (the lower one of two) among Profile::SteadyOrCommonRuns(),
// as an index into Profile::runs; absent if there is no run.
std::optional<std::size_t> MedianRun(const Profile& profile);

// Samples at most `max_runs` runs, but at least one if there is any: first the median run, then the fastest
// and the slowest of Profile::SteadyOrCommonRuns(), then runs evenly spaced over the trace.
SampledRuns SampleRuns(const Trace& trace, const Profile& profile, std::size_t max_runs);

}  // namespace etprof
