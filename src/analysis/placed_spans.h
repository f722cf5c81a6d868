#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/profile.h"
#include "core/units.h"
#include "etdump/trace.h"

namespace etprof {

// A span of a run as it is drawn: within its parent and after its elder sibling, so that spans nest.
struct PlacedSpan {
  std::size_t event = 0;  // index into Trace::start
  std::int32_t op = 0;    // index into Profile::operators
  int depth = 0;          // 0: Method::execute
  Nanoseconds start = 0, end = 0;
  // False: the trace says other times (a child that sticks out of its parent, one that runs backwards).
  bool as_recorded = true;
};

// The spans of run `run` (index into Profile::runs), parents before children, siblings in order of time.
// `spans` is overwritten. `profile` was made of `trace`.
class SpanPlacer {
 public:
  SpanPlacer(const Trace& trace, const Profile& profile);
  void Place(std::size_t run, std::vector<PlacedSpan>& spans);

 private:
  const Trace& trace_;
  const Profile& profile_;
  std::vector<std::int32_t> position_of_;             // by operator: its event in the run; -1
  std::vector<std::vector<std::uint32_t>> children_;  // by event of the run
};

}  // namespace etprof
