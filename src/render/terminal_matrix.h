#pragma once

#include <ostream>

#include "report/report.h"

namespace etprof {

// Several experiments against one baseline, or a thread sweep: a row a group and costly operator, a column an
// experiment; as many columns as the width (in terminal columns) takes.
void DrawMatrix(const Report& report, const Matrix& matrix, int width, std::ostream& out);

}  // namespace etprof
