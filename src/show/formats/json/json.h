#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>

#include "report/report.h"

namespace etprof {

// Writes analysis_summary.json: everything in the report except the events, with the kit's keys
// (docs/reference/files.md). Rows that must add up are integers: `total_ns` over `runs`; deltas are
// `delta_numerator_ns` over one `delta_denominator`. Undefined values are null, never NaN.
void RenderAnalysisJson(const Report& report, std::ostream& out);

// Writes pipeline_summary.json: one entry per experiment and per pair.
void RenderPipelineSummaryJson(const Report& report, std::ostream& out);

// Writes the data that the page draws as timelines (web/src/timeline.ts), from all runs in SampledRuns.
void RenderTimelineJson(const Report& report, std::ostream& out);

nlohmann::ordered_json AnalysisSummarySchema();
nlohmann::ordered_json PipelineSummarySchema();
nlohmann::ordered_json TimelineSchema();

}  // namespace etprof
