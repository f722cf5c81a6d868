#pragma once

#include <functional>
#include <istream>
#include <ostream>
#include <string>

#include "report/report.h"
#include "show/formats/screen/terminal.h"

// Renders the report of a run (show/subjects/run/report.h) in each format.
namespace etprof {

void RenderTerminal(const Report& report, const TerminalOptions& options, std::ostream& out);
// Writes report.md, and its short form for a comment on a pull request.
void RenderMarkdown(const Report& report, std::ostream& out);
void RenderBriefMarkdown(const Report& report, std::ostream& out);
// Writes the short form as a file, with the model's name in the title even if the report has another title.
void RenderPipelineSummaryMarkdown(const Report& report, std::ostream& out);

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
