#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "measure/store/watch.h"

namespace etprof {

// The watched run of a timeline, in its order. Times are nanoseconds since its begin.
struct PlacedWatch {
  // Operators nest by their times alone, and end within what contains them.
  struct Span {
    std::size_t op = 0;  // index of WatchReply::operators
    std::size_t depth = 0;
    Nanoseconds begin = 0, end = 0;
  };
  struct Slice {
    std::size_t span = 0;
    const protocol::WatchedSlice* slice = nullptr;
  };
  std::vector<Span> spans;
  std::vector<Slice> slices;  // by their begin

  explicit PlacedWatch(const protocol::WatchedTimeline& timeline);  // has to outlive this
};

// By the keys of operators (KeyText), their places in the profile.
std::map<std::string, std::size_t> OperatorsByKey(const Profile& profile);

}  // namespace etprof
