#pragma once

#include <ostream>

#include "render/screen/terminal.h"
#include "report/report.h"

namespace etprof {

// The ladder of a report that has one: the answer, the levels with their gains and bars, which level pays for
// what.
void DrawLadder(const Report& report, const TerminalOptions& options, int width, std::ostream& out);

}  // namespace etprof
