#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/etdump/trace.h"
#include "profile/analysis/profile.h"

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

// The rows of one run, or of consecutive events outside of runs.
struct TimelineRun {
  std::string block;
  std::vector<TimelineEvent> events;
};

// Sorts the events into an ETDump's order (children before their parents) if necessary, and numbers the calls
// unless the file has instructions. `names` contains the names of the events.
void OrderEvents(const NameTable& names, bool has_instructions, TimelineRun& run);

// Appends the run to the trace as one block.
void AppendRun(const TimelineRun& run, Trace& trace);

}  // namespace etprof
