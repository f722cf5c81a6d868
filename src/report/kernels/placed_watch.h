#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "measure/store/watch.h"
#include "profile/analysis/profile.h"

namespace etprof {

// A watched run with nested spans for a timeline. Times are nanoseconds since its begin.
struct PlacedWatch {
  // Operators nest by their times, and end within the operator that contains them.
  struct Span {
    std::size_t op = 0;  // index into WatchReply::operators
    std::size_t depth = 0;
    Nanoseconds begin = 0, end = 0;
  };
  struct Slice {
    std::size_t span = 0;
    const protocol::WatchedSlice* slice = nullptr;
  };
  std::vector<Span> spans;
  std::vector<Slice> slices;  // ordered by begin

  explicit PlacedWatch(const protocol::WatchedTimeline& timeline);  // `timeline` must outlive this object
};

// Indices into Profile::operators by KeyText.
std::map<std::string, std::size_t> OperatorsByKey(const Profile& profile);

}  // namespace etprof
