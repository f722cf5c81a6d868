#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile.h"
#include "etdump/trace.h"

namespace etprof {

// Which operator and run of a profile each event of its trace is, for tables with a row an event.
struct EventPlaces {
  static constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> run;  // index into Profile::runs; kNone: in no complete run
  std::vector<std::int32_t> op;  // index into Profile::operators; kNone: not told by name, order and duration
};

// `profile` was made of `trace`. Events and operators of one run are matched by name in the order of the
// file, and held against each other's duration.
EventPlaces PlaceEvents(const Trace& trace, const Profile& profile);

}  // namespace etprof
