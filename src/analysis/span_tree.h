#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile.h"
#include "etdump/trace.h"

namespace etprof {

// The spans of one run: events [first, first + size) of a trace, whose last one is Method::execute. Position
// i of every column is event first + i.
struct SpanTree {
  std::uint32_t first = 0;
  std::vector<SpanKind> kind;
  std::vector<std::int32_t> parent;   // position; -1 for the last, Method::execute
  std::vector<Nanoseconds> duration;  // end - start, 0 where that is negative
  std::vector<Nanoseconds> self;      // duration less what the children cover; never negative
  Nanoseconds clipped = 0;            // <= 0; the self times and this add up to the last span's duration

  std::size_t size() const { return kind.size(); }
};

SpanKind KindOfEvent(const Trace& trace, std::size_t event);

// Builds the tree from the order of the events (children come before their parents) and, among a backend's
// own events, from their times. A child counts against its parent only as far as it lies inside the parent
// and after its elder siblings; the rest is `clipped`, and an entry of `health`. `tree` is overwritten
// (reused to save allocations).
void BuildSpanTree(const Trace& trace, std::uint32_t block, std::uint32_t first, std::uint32_t count,
                   Health& health, SpanTree& tree);

}  // namespace etprof
