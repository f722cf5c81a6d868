#pragma once

#include <ostream>

#include "render/screen/terminal.h"
#include "report/report.h"

// The report of a run (say/run/report.h) in each format.
namespace etprof {

void RenderTerminal(const Report& report, const TerminalOptions& options, std::ostream& out);
// report.md, and its short form as a comment on a pull request.
void RenderMarkdown(const Report& report, std::ostream& out);
void RenderBriefMarkdown(const Report& report, std::ostream& out);
// The same as a file, which has the model's name whatever the report's title.
void RenderPipelineSummaryMarkdown(const Report& report, std::ostream& out);

}  // namespace etprof
