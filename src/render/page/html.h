#pragma once

#include <functional>
#include <istream>
#include <ostream>
#include <string>

#include "report/report.h"

namespace etprof {

// report.html: the page that web/ builds, with the document of the report, analysis_summary.json, and what
// timelines are drawn of in it (gzip, in base64, so that no name in them can end the element that holds
// them). One file that needs nothing else. RenderDocumentHtml (render/document.h) writes the same page of one
// document.
void RenderHtml(const Report& report, std::ostream& out);
// The same where `analysis_json` writes what RenderAnalysisJson would: the text is made once where others
// need it, too.
void RenderHtmlOf(const Report& report, const std::function<void(std::ostream&)>& analysis_json,
                  std::ostream& out);

// The title that a page written by RenderHtml was given (Report::title); "" where it has none.
std::string ReadTitle(std::istream& page);

}  // namespace etprof
