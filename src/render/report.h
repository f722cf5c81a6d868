#pragma once

#include <ostream>

#include "render/screen/terminal.h"
#include "report/report.h"

// The report of a run (say/report.h) in each format.
namespace etprof {

void RenderTerminal(const Report& report, const TerminalOptions& options, std::ostream& out);
// report.md, and its short form as a comment on a pull request.
void RenderMarkdown(const Report& report, std::ostream& out);
void RenderBriefMarkdown(const Report& report, std::ostream& out);
void RenderPipelineSummaryMarkdown(const Report& report, std::ostream& out);  // the same as a file

}  // namespace etprof
