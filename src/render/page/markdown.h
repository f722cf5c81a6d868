#pragma once

#include <ostream>

#include "report/report.h"

namespace etprof {

// report.md: the whole report in GitHub's Markdown. Names from files are escaped.
void RenderMarkdown(const Report& report, std::ostream& out);

// The short form, as a comment on a pull request: the answer, latencies, what to do next, and folded away
// where the time goes.
void RenderBriefMarkdown(const Report& report, std::ostream& out);

}  // namespace etprof
