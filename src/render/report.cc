#include "render/report.h"

#include "render/document.h"
#include "say/run/report.h"
#include "say/wording.h"

namespace etprof {

void RenderTerminal(const Report& report, const TerminalOptions& options, std::ostream& out) {
  RenderDocumentTerminal(say::MakeReportDocument(report), options, out);
}

void RenderMarkdown(const Report& report, std::ostream& out) {
  RenderDocumentMarkdown(say::MakeReportDocument(report), 1, out);
}

void RenderBriefMarkdown(const Report& report, std::ostream& out) {
  RenderDocumentMarkdown(say::MakeReportDocument(report), 3, out, say::Level::kBrief);
}

void RenderPipelineSummaryMarkdown(const Report& report, std::ostream& out) {
  say::Document document = say::MakeReportDocument(report);
  document.title = HeaderText(report, "");
  RenderDocumentMarkdown(document, 1, out, say::Level::kBrief);
}

}  // namespace etprof
