#pragma once

#include <functional>
#include <istream>
#include <ostream>
#include <string>

#include "report/report.h"

namespace etprof {

// Writes report.html: the page that web/ builds, with three data elements: the report's document,
// analysis_summary.json, and the data of the timelines. Each is gzip in base64, so that no name in it can end
// its element. The file is self-contained. RenderDocumentHtml (show/formats.h) writes the same page for a
// single document.
void RenderHtml(const Report& report, std::ostream& out);
// Like RenderHtml, but `analysis_json` writes what RenderAnalysisJson would: callers that also write that
// text to other files then compute it once.
void RenderHtmlWithJson(const Report& report, const std::function<void(std::ostream&)>& analysis_json,
                        std::ostream& out);

// The title in a page that RenderHtml wrote (Report::title); "" if the report has no title.
std::string ReadTitle(std::istream& page);

}  // namespace etprof
