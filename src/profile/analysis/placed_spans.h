#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "format/etdump/trace.h"
#include "profile/analysis/profile.h"

namespace etprof {

// A span of a run with times for drawing: it lies within its parent and after its previous sibling, so that
// spans nest.
struct PlacedSpan {
  std::size_t event = 0;  // index into Trace::start
  std::int32_t op = 0;    // index into Profile::operators
  int depth = 0;          // 0: Method::execute
  Nanoseconds start = 0, end = 0;
  // False: the trace has other times (the span exceeds its parent, overlaps its sibling, or ends before it
  // begins).
  bool has_recorded_times = true;
};

// Place() returns the spans of run `run` (index into Profile::runs), parents before children, siblings in
// order of time. `spans` is overwritten. `profile` must be made from `trace`.
class SpanPlacer {
 public:
  SpanPlacer(const Trace& trace, const Profile& profile);
  void Place(std::size_t run, std::vector<PlacedSpan>& spans);

 private:
  const Trace& trace_;
  const Profile& profile_;
  std::vector<std::int32_t> position_;  // indexed by operator: its event in the run; -1: it has no event
  std::vector<std::vector<std::uint32_t>> children_;  // indexed by event of the run
};

}  // namespace etprof
