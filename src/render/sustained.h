#pragma once

#include <ostream>
#include <string>

#include "render/markdown_text.h"
#include "report/report.h"

// A sustained run, said in each of the forms. All for an experiment whose `sustained` is there.
namespace etprof {

// "10 min: 12.1 ms in the first minute, 15.9 ms in the last: 1.31x slower [1.30, 1.33]".
std::string SustainedText(const ReportExperiment& experiment);

// The text, and a line for each of latency, clock and temperature over time.
void DrawSustained(const ReportExperiment& experiment, int width, std::ostream& out);

// A Markdown table of at most ten stretches of the time.
void RenderSustainedMarkdown(const ReportExperiment& experiment, markdown::Out& out);

// seconds,runs,median_ms,p95_ms,frequency_mhz,frequency_cap_mhz,temperature_c: one row a burst.
void RenderSustainedCsv(const ReportExperiment& experiment, std::ostream& out);

}  // namespace etprof
