#pragma once

#include <ostream>

#include "render/page/markdown_text.h"
#include "render/screen/terminal.h"
#include "report/report.h"

// How far operators are from what the machine can do, by falling time that the roof would save.
namespace etprof {

// With a picture above the table, whose first rows are the letters in it. Of a pair the candidate; with
// `options.all` every experiment and every operator. DrawRoofline has no heading, and draws nothing where no
// roofs are known.
void DrawRoofline(const Report& report, const TerminalOptions& options, std::ostream& out);
void RenderRooflineTerminal(const Report& report, const TerminalOptions& options, std::ostream& out);
// The section of report.md; nothing where no roofs are known.
void RenderRooflineMarkdown(const Report& report, markdown::Out& out);

}  // namespace etprof
