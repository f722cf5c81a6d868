#include "render/report.h"

#include <algorithm>
#include <sstream>

#include "render/document.h"
#include "render/ladder_files.h"
#include "render/page/markdown_matrix.h"
#include "render/page/markdown_text.h"
#include "render/screen/terminal_ladder.h"
#include "render/screen/terminal_matrix.h"
#include "render/screen/terminal_text.h"
#include "say/report.h"
#include "say/report_parts.h"

namespace etprof {
namespace {

// What is not said as a document yet (ladder, matrices) is drawn into its place in the report's: this goes,
// and say::Drawn with it, when say::SayLadder and say::SayMatrix come and SayReport adds them before the
// findings.

say::Section Drawn(const char* title, say::Level level, say::Drawn drawn) {
  return {title, level, {std::move(drawn)}};
}

say::Document DocumentOf(const Report& report, const TerminalOptions& options) {
  say::Document document = say::SayReport(report);
  const auto on_screen = [&](const auto& draw) {
    std::ostringstream text;
    draw(text);
    std::string lines = text.str();
    while (lines.ends_with("\n\n")) lines.pop_back();
    if (lines.starts_with('\n')) lines.erase(0, 1);
    return lines;
  };
  const auto on_page = [&](const auto& write) {
    std::ostringstream text;
    markdown::Out out(text);
    write(out);
    return text.str();
  };
  auto place = document.sections.begin();
  while (place != document.sections.end() && place->title != say::kFindingsTitle) ++place;
  const auto add = [&](say::Section section) {
    place = document.sections.insert(place, std::move(section)) + 1;
  };
  if (report.ladder) {
    add(Drawn("", say::Level::kBrief,
              {on_screen([&](auto& text) { DrawLadder(report, options, options.width, text); }),
               on_page([&](auto& out) { RenderLadderMarkdown(report, out); })}));
  }
  for (const Matrix& matrix : report.matrices) {
    add(Drawn("", say::IsOnePair(report, matrix) ? say::Level::kPage : say::Level::kUsual,
              {on_screen([&](auto& text) { DrawMatrix(report, matrix, options, text); }),
               on_page([&](auto& out) { RenderMatrix(report, matrix, out); })}));
  }
  return document;
}

}  // namespace

void RenderTerminal(const Report& report, const TerminalOptions& options, std::ostream& out) {
  TerminalOptions drawn = options;
  drawn.width = std::max(kLeastWidth, options.width) - (options.ascii ? kLongerInAscii : 0);
  RenderDocumentTerminal(DocumentOf(report, drawn), options, out);
}

void RenderMarkdown(const Report& report, std::ostream& out) {
  RenderDocumentMarkdown(DocumentOf(report, {}), 1, out);
}

void RenderBriefMarkdown(const Report& report, std::ostream& out) {
  RenderDocumentMarkdown(DocumentOf(report, {}), 3, out, say::Level::kBrief);
}

void RenderPipelineSummaryMarkdown(const Report& report, std::ostream& out) {
  RenderDocumentMarkdown(DocumentOf(report, {}), 1, out, say::Level::kBrief);
}

}  // namespace etprof
