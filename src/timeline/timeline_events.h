#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "etdump/trace.h"

namespace etprof {

// One row of a timeline.
struct TimelineEvent {
  NameId name = 0;
  Trace::Source source = Trace::Source::kFramework;
  std::int32_t chain = 0;
  std::int32_t instruction = -1;
  Nanoseconds start = 0, end = 0;
  std::optional<Phase> phase;
};

// The rows of one run, or of events that are in none.
struct TimelineRun {
  std::string block;
  std::vector<TimelineEvent> events;
};

// Puts the events into an ETDump's order (children before their parents) where they are not, and numbers the
// calls where `instructions` are not told. `names` are those of the events.
void OrderEvents(const NameTable& names, bool instructions_told, TimelineRun& run);

// One block a run.
void AppendRun(const TimelineRun& run, Trace& trace);

}  // namespace etprof
