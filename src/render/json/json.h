#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>

#include "report/report.h"

namespace etprof {

// analysis_summary.json: everything of the report but the events, with the kit's keys
// (docs/reference/files.md). Rows that must add up are integers: `total_ns` over `runs`; deltas are
// `delta_numerator_ns` over one `delta_denominator`. What is not defined is null, never NaN.
void RenderAnalysisJson(const Report& report, std::ostream& out);

// pipeline_summary.json and .md: one line an experiment and a pair.
void RenderPipelineSummaryJson(const Report& report, std::ostream& out);

// What the page draws as timelines (web/src/timeline.ts), of all that SampledRuns has.
void RenderTimelineJson(const Report& report, std::ostream& out);

nlohmann::ordered_json AnalysisSummarySchema();
nlohmann::ordered_json PipelineSummarySchema();
nlohmann::ordered_json TimelineSchema();

}  // namespace etprof
