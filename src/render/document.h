#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "render/page/markdown_text.h"
#include "render/screen/terminal.h"
#include "say/document.h"

// Any document (say/document.h) in each format. What it is of, they do not know.
namespace etprof {

void RenderDocumentTerminal(const say::Document& document, const TerminalOptions& options, std::ostream& out);
// Markdown whose title is a heading of `depth` (1: "#"), of what is at most at that level: kBrief for the
// short form.
void RenderDocumentMarkdown(const say::Document& document, int depth, std::ostream& out,
                            say::Level most = say::Level::kFolded);

// RFC 4180: the tables of that id, one after the other, each row with its section's title. A value has the
// columns that it needs: its unit beside it ("baseline", "baseline_unit": ms, bytes), a change its bounds
// ("change", "change_low", "change_high"; relative). Throws Error (kUsage) for an id that no table has.
void RenderDocumentCsv(const say::Document& document, const std::string& table, std::ostream& out);
// The ids of the document's tables, in their order, each once.
std::vector<std::string> TableIds(const say::Document& document);

// One section, for a screen or page that is not a document yet.
void DrawSection(const say::Section& section, const TerminalOptions& options, std::ostream& out);
void WriteSection(const say::Section& section, int depth, markdown::Out& out,
                  say::Level most = say::Level::kFolded);

}  // namespace etprof
