#pragma once

#include <ostream>

#include "report/report.h"

namespace etprof {

// report.md: the report, and the counters that lie beside its experiments (docs/counters.md). A file of
// counters that cannot be read is said in their place.
void RenderReportMarkdown(const Report& report, std::ostream& out);

}  // namespace etprof
