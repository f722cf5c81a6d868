#include "show/formats/report.h"

#include "show/formats.h"
#include "show/subjects/run/report.h"
#include "show/wording.h"

namespace etprof {

void RenderTerminal(const Report& report, const TerminalOptions& options, std::ostream& out) {
  RenderDocumentTerminal(show::MakeReportDocument(report), options, out);
}

void RenderMarkdown(const Report& report, std::ostream& out) {
  RenderDocumentMarkdown(show::MakeReportDocument(report), 1, out);
}

void RenderBriefMarkdown(const Report& report, std::ostream& out) {
  RenderDocumentMarkdown(show::MakeReportDocument(report), 3, out, show::Visibility::kBrief);
}

void RenderPipelineSummaryMarkdown(const Report& report, std::ostream& out) {
  show::Document document = show::MakeReportDocument(report);
  document.title = HeaderText(report, "");
  RenderDocumentMarkdown(document, 1, out, show::Visibility::kBrief);
}

}  // namespace etprof
