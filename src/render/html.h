#pragma once

#include <ostream>

#include "report/report.h"

namespace etprof {

// report.html: the page that web/ builds, with analysis_summary.json in it (gzip, in base64, so that no name
// in it can end the element that holds it). One file that needs nothing else.
void RenderHtml(const Report& report, std::ostream& out);

}  // namespace etprof
