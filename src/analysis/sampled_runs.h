#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.h"

namespace etprof {

struct Profile;
struct Trace;

// Some traced runs, span by span, for what draws them after the trace is gone.
struct SampledRuns {
  // What the spans of a run are: parents before children, siblings in order of time. Runs share it.
  struct Shape {
    std::vector<std::int32_t> op;  // index into Profile::operators
    std::vector<int> depth;        // 0: Method::execute
    bool operator==(const Shape&) const = default;
  };
  struct Run {
    std::size_t run = 0;    // index into Profile::runs
    std::size_t shape = 0;  // index into `shapes`
    // By span of the shape: from the end of its elder sibling, or from its parent's start where it is the
    // first, to its own start; and from there to its end. Neither is negative (PlacedSpan).
    std::vector<Nanoseconds> gap, duration;
  };
  std::vector<Shape> shapes;
  std::vector<Run> runs;              // in the order of the trace
  std::optional<std::size_t> median;  // index into `runs`: MedianRun
};

// The run whose Method::execute is the median of those that the profile describes (the lower one of two),
// as an index into Profile::runs; absent where there is none.
std::optional<std::size_t> MedianRun(const Profile& profile);

// At most `most` runs, but at least one where there is any: the median one first of all, then the fastest and
// the slowest of those that the profile describes, then evenly spaced over the trace.
SampledRuns SampleRuns(const Trace& trace, const Profile& profile, std::size_t most);

}  // namespace etprof
