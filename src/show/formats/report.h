#pragma once

#include <ostream>

#include "report/report.h"
#include "show/formats/screen/terminal.h"

// Renders the report of a run (show/subjects/run/report.h) in each format.
namespace etprof {

void RenderTerminal(const Report& report, const TerminalOptions& options, std::ostream& out);
// Writes report.md, and its short form for a comment on a pull request.
void RenderMarkdown(const Report& report, std::ostream& out);
void RenderBriefMarkdown(const Report& report, std::ostream& out);
// Writes the short form as a file, with the model's name in the title even if the report has another title.
void RenderPipelineSummaryMarkdown(const Report& report, std::ostream& out);

}  // namespace etprof
