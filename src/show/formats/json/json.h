#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

#include "report/report.h"

// Writes JSON files and the output of --json (docs/reference/files.md, docs/schema). Undefined and unknown
// values are null, never NaN.
namespace etprof {

struct DataFile;
struct DevicesReport;
struct Program;

// Writes analysis_summary.json: everything in the report except the events, with the keys of the SME2
// profiling kit. Rows that must add up are integers: `total_ns` over `runs`; deltas are `delta_numerator_ns`
// over one `delta_denominator`.
void RenderAnalysisJson(const Report& report, std::ostream& out);
nlohmann::ordered_json AnalysisSummarySchema();

// Writes pipeline_summary.json: one entry per experiment and per pair.
void RenderPipelineSummaryJson(const Report& report, std::ostream& out);
nlohmann::ordered_json PipelineSummarySchema();

// Writes the data that the page draws as timelines (web/src/timeline.ts), from all runs in SampledRuns.
void RenderTimelineJson(const Report& report, std::ostream& out);
nlohmann::ordered_json TimelineSchema();

// Writes devices_report.json.
void RenderDevicesJson(const DevicesReport& report, std::ostream& out);
nlohmann::ordered_json DevicesReportSchema();

// Writes everything in a program, and its summary (docs/guides/inspect.md). `data` is the .ptd in which the
// program's external weights are looked up; null: no .ptd is known.
void RenderInspectJson(const Program& program, const std::string& file, const DataFile* data,
                       std::ostream& out);
nlohmann::ordered_json InspectSchema();

// Writes the contents of a .ptd: its size and every piece of data with its name.
void RenderDataFileJson(const DataFile& data, const std::string& file, std::ostream& out);
nlohmann::ordered_json InspectDataSchema();

}  // namespace etprof
