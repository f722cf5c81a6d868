#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "report/report.h"

namespace etprof {

// report.html: the page that web/ builds, with analysis_summary.json and what timelines are drawn of in it
// (gzip, in base64, so that no name in them can end the element that holds them). One file that needs nothing
// else.
void RenderHtml(const Report& report, std::ostream& out);

// The heading that a page written by RenderHtml was given; "" where it has none of its own.
std::string ReadTitle(std::istream& page);

}  // namespace etprof
