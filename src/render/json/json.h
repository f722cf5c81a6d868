#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>

#include "report/report.h"

namespace etprof {

// analysis_summary.json: everything of the report but the events, with the seeds' keys
// (docs/reference/files.md). Rows that must add up are integers: `total_ns` over `runs`; deltas are
// `delta_numerator_ns` over one `delta_denominator`. What is not defined is null, never NaN.
void RenderAnalysisJson(const Report& report, std::ostream& out);

// pipeline_summary.json and .md: one line an experiment and a pair.
void RenderPipelineSummaryJson(const Report& report, std::ostream& out);

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

nlohmann::ordered_json AnalysisSummarySchema();
nlohmann::ordered_json PipelineSummarySchema();

}  // namespace etprof
