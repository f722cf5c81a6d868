#pragma once

#include <cstdint>
#include <vector>

#include "format/etdump/trace.h"
#include "profile/analysis/profile.h"

namespace etprof {

// Consecutive events of a block: [first, first + count) of its layout. The segment of a run ends with its
// Method::execute.
struct Segment {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// The spans of one run. Position i of every column is event `first + i` of the block's layout; the last event
// is Method::execute.
struct SpanTree {
  std::vector<SpanKind> kind;
  std::vector<std::int32_t> parent;   // position of the parent; -1 for Method::execute
  std::vector<Nanoseconds> duration;  // end - start, or 0 if negative
  std::vector<Nanoseconds> self;      // duration minus the time that the children cover; never negative
  Nanoseconds clipped = 0;  // <= 0; the self times plus this add up to the duration of Method::execute

  std::size_t size() const { return kind.size(); }
};

// Returns the kind of each event of a run, `run.count` values. An event of an OPERATOR_CALL's instruction is
// a kernel whatever its name, since users may register kernels under any name.
std::vector<SpanKind> ClassifyEvents(const Trace& trace, const Trace::Layout& layout, Segment run);

// Builds the tree from the order of the events (children precede their parents) and, among a backend's own
// events, from their times. A child is subtracted from its parent only as far as it lies inside the parent
// and after its previous siblings; the rest is `clipped` and gets an entry in `health`. `tree` is overwritten
// (reused to save allocations).
void BuildSpanTree(const Trace& trace, std::uint32_t block, Segment run, TraceHealth& health, SpanTree& tree);

// The tree that all ordered runs of a segment share. In an ordered run, each child starts after its parent's
// start and its previous sibling's end, and ends within the parent. Then the kinds of the events alone
// determine the tree, nothing is clipped, and self times are plain differences. Nearly all runs are ordered.
class OrderedTree {
 public:
  OrderedTree(const Trace& trace, const Trace::Layout& layout, Segment run);

  const std::vector<SpanKind>& kind() const { return kind_; }
  const std::vector<std::int32_t>& parent() const { return parent_; }
  std::size_t size() const { return kind_.size(); }

  // Returns whether the run is ordered. `start` and `end` are arrays with the times of its events.
  bool KeepsOrder(const Nanoseconds* start, const Nanoseconds* end) const;

  // Computes the durations and self times of an ordered run, size() values each.
  void ComputeTimes(const Nanoseconds* start, const Nanoseconds* end, Nanoseconds* duration,
                    Nanoseconds* self) const;

 private:
  std::vector<SpanKind> kind_;
  std::vector<std::int32_t> parent_;
  std::vector<std::uint32_t> children_;  // positions, grouped by parent, in their order
  struct Parent {
    std::uint32_t position, first_child, end_child;  // the last two: indices into `children_`
  };
  std::vector<Parent> parents_;
};

}  // namespace etprof
