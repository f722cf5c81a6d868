#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "show/document.h"
#include "show/formats/screen/terminal.h"

// Renders any document (show/document.h) in each format. The formats know nothing about the document's
// subject.
namespace etprof {

void RenderDocumentTerminal(const show::Document& document, const TerminalOptions& options,
                            std::ostream& out);
// Writes Markdown. The title is a heading of `depth` (1: "#"). Parts above `max_visibility` are left out;
// kBrief gives the short form.
void RenderDocumentMarkdown(const show::Document& document, int depth, std::ostream& out,
                            show::Visibility max_visibility = show::Visibility::kFolded);

// Writes all tables with the id `table` as one RFC 4180 CSV, each row with the title of its section if any
// section has one. A unit has its own column next to the value ("baseline", "baseline_unit": ms, bytes), and
// so do the bounds of a change ("change", "change_low", "change_high"; relative). Throws Error (kUsage) if no
// table has the id.
void RenderDocumentCsv(const show::Document& document, const std::string& table, std::ostream& out);
// The distinct ids of the document's tables, in document order.
std::vector<std::string> TableIds(const show::Document& document);
// Throws Error (kUsage), whose remedy lists `ids`, unless `table` is one of them.
void RequireTableId(const std::string& table, const std::vector<std::string>& ids);

// Writes JSON of docs/schema/document.schema.json. Undefined values have no key.
void RenderDocumentJson(const show::Document& document, std::ostream& out);
nlohmann::ordered_json DocumentSchema();
// Writes a self-contained HTML page (show/formats/report.h).
void RenderDocumentHtml(const show::Document& document, std::ostream& out);

// A file format for documents. To add one, implement its file and add its line to kDocumentFormats: every
// command that has a document then has an option for it (commands/terminal/show.h).
struct DocumentFormat {
  const char* name;  // name of the option: "html"
  const char* help;  // text of the option's help: "as a page, ..."
  void (*render)(const show::Document& document, std::ostream& out);
};
inline constexpr DocumentFormat kDocumentFormats[] = {
    {"html", "as an HTML page, which opens without a server", RenderDocumentHtml},
    {"markdown", "as Markdown",
     [](const show::Document& document, std::ostream& out) { RenderDocumentMarkdown(document, 1, out); }},
    {"document", "as JSON that describes sections, tables, and charts (docs/reference/json.md)",
     RenderDocumentJson}};

}  // namespace etprof
