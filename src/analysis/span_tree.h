#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile.h"
#include "etdump/trace.h"

namespace etprof {

// Consecutive events of a block: [first, first + count) of its layout. Those of a run end with its
// Method::execute.
struct Segment {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// The spans of one run. Position i of every column is event `first + i` of the block's layout; the last one
// is Method::execute.
struct SpanTree {
  std::vector<SpanKind> kind;
  std::vector<std::int32_t> parent;   // position; -1 for the last, Method::execute
  std::vector<Nanoseconds> duration;  // end - start, 0 where that is negative
  std::vector<Nanoseconds> self;      // duration less what the children cover; never negative
  Nanoseconds clipped = 0;            // <= 0; the self times and this add up to the last span's duration

  std::size_t size() const { return kind.size(); }
};

// The kind of each event of a run, `run.count` of them. An event of an OPERATOR_CALL's instruction is a
// kernel whatever its name is: users register kernels under names of their own.
std::vector<SpanKind> KindsOfEvents(const Trace& trace, const Trace::Layout& layout, Segment run);

// Builds the tree from the order of the events (children come before their parents) and, among a backend's
// own events, from their times. A child counts against its parent only as far as it lies inside the parent
// and after its elder siblings; the rest is `clipped`, and an entry of `health`. `tree` is overwritten
// (reused to save allocations).
void BuildSpanTree(const Trace& trace, std::uint32_t block, Segment run, Health& health, SpanTree& tree);

// The tree of all runs of one segment whose spans keep order: each child starts where its parent or after its
// elder sibling ended, and ends within the parent. Then the events' kinds alone decide the tree, nothing is
// clipped, and self times are plain differences; that is how nearly every run is.
class OrderedTree {
 public:
  OrderedTree(const Trace& trace, const Trace::Layout& layout, Segment run);

  const std::vector<SpanKind>& kind() const { return kind_; }
  const std::vector<std::int32_t>& parent() const { return parent_; }
  std::size_t size() const { return kind_.size(); }

  // Whether the run's spans keep order. `start` and `end` are the times of its first event and those after.
  bool Holds(const Nanoseconds* start, const Nanoseconds* end) const;

  // Durations and self times of such a run, size() each.
  void Times(const Nanoseconds* start, const Nanoseconds* end, Nanoseconds* duration,
             Nanoseconds* self) const;

 private:
  std::vector<SpanKind> kind_;
  std::vector<std::int32_t> parent_;
  std::vector<std::uint32_t> children_;  // positions, those of one parent together and in their order
  struct Parent {
    std::uint32_t position, first_child, end_child;  // in `children_`
  };
  std::vector<Parent> parents_;
};

}  // namespace etprof
