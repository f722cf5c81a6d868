#pragma once

#include <ostream>

#include "report/report.h"

namespace etprof {

// What the page draws as timelines (web/src/timeline.ts reads it): of each experiment that has a trace the
// spans of some of its runs (SampledRuns), in the order of Report::experiments, null for one without.
//   operators   of the profile, which spans refer to by index: key, name, kind, category, group
//   shapes      what the spans of a run are: `op` and `depth`, parents before children
//   runs        `run` (which of the trace, from 0), `shape`, `phase`, `launch`, `round`, and `times`: by span
//   two
//               whole nanoseconds, the gap since the span before it under the same parent (or the parent's
//               start) and the duration
//   watched     of an experiment whose calls were watched, one run of another process: `op`, `depth`, and
//               `times` (begin and duration), span by span, parents before children; `slices`: `thread`,
//               `span`, `times`, `tasks`, and `busy`, in order of time; `threads`, and `left_out`
void RenderTimelineJson(const Report& report, std::ostream& out);

}  // namespace etprof
