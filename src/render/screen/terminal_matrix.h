#pragma once

#include <ostream>

#include "render/screen/terminal.h"
#include "report/report.h"

namespace etprof {

// Several experiments against one baseline, or a thread sweep: a row a group and costly operator, a column an
// experiment; as many columns as the terminal takes. With `options.all` every operator, and every experiment
// in tables below each other.
void DrawMatrix(const Report& report, const Matrix& matrix, const TerminalOptions& options,
                std::ostream& out);

}  // namespace etprof
