#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "render/screen/terminal.h"
#include "say/document.h"

// Any document (say/document.h) in each format. What it is of, they do not know.
namespace etprof {

void RenderDocumentTerminal(const say::Document& document, const TerminalOptions& options, std::ostream& out);
// Markdown whose title is a heading of `depth` (1: "#"), of what is at most at that level: kBrief for the
// short form.
void RenderDocumentMarkdown(const say::Document& document, int depth, std::ostream& out,
                            say::Level most = say::Level::kFolded);

// RFC 4180: the tables of that id, one after the other, each row with its section's title, if any has one. A
// value has its unit beside it ("baseline", "baseline_unit": ms, bytes), a change its bounds ("change",
// "change_low", "change_high"; relative). Throws Error (kUsage) for an id that no table has.
void RenderDocumentCsv(const say::Document& document, const std::string& table, std::ostream& out);
// The ids of the document's tables, in their order, each once.
std::vector<std::string> TableIds(const say::Document& document);
// Throws Error (kUsage), which lists them, unless `table` is one of `ids`.
void RequireTableId(const std::string& table, const std::vector<std::string>& ids);

// docs/schema/document.schema.json. What is not defined has no key.
void RenderDocumentJson(const say::Document& document, std::ostream& out);
nlohmann::ordered_json DocumentSchema();
// The page: one file that needs nothing else (render/page/html.h).
void RenderDocumentHtml(const say::Document& document, std::ostream& out);

// What a document is written to a file as. A format is added by its file and by its line below: then every
// command that has a document has an option for it (cli/show.h).
struct DocumentFormat {
  const char* name;  // of the option: "html"
  const char* is;    // for its help: "as a page, ..."
  void (*render)(const say::Document& document, std::ostream& out);
};
inline constexpr DocumentFormat kDocumentFormats[] = {
    {"html", "as an HTML page, which opens without a server", RenderDocumentHtml},
    {"markdown", "as Markdown",
     [](const say::Document& document, std::ostream& out) { RenderDocumentMarkdown(document, 1, out); }},
    {"document", "as JSON that describes sections, tables, and charts (docs/reference/json.md)",
     RenderDocumentJson}};

}  // namespace etprof
