#pragma once

#include <ostream>

#include "render/terminal.h"
#include "report/report.h"

// How far operators are from what the machine can do, by falling time that the roof would save.
namespace etprof {

void RenderRooflineTerminal(const Report& report, const TerminalOptions& options, std::ostream& out);
// The section of report.md; nothing where no roofs are known.
void RenderRooflineMarkdown(const Report& report, std::ostream& out);

}  // namespace etprof
