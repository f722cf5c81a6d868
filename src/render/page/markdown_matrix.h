#pragma once

#include "render/page/markdown_text.h"
#include "report/report.h"

namespace etprof {

// The section of report.md on several experiments against one baseline, or on a thread sweep.
void RenderMatrix(const Report& report, const Matrix& matrix, markdown::Out& out);

}  // namespace etprof
