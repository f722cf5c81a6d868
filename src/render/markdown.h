#pragma once

#include <ostream>

#include "report/report.h"

namespace etprof {

// report.md: the whole report in GitHub's Markdown. Names from files are escaped.
void RenderMarkdown(const Report& report, std::ostream& out);

}  // namespace etprof
