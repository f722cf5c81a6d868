#include <fmt/format.h>

#include <algorithm>
#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <functional>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/parallel.h"
#include "core/text/escape.h"
#include "core/text/text.h"
#include "show/formats.h"
#include "show/formats/json/json.h"
#include "show/formats/page/gzip.h"
#include "show/formats/printed_table.h"
#include "show/formats/report.h"
#include "show/subjects/run/report.h"
#include "show/wording.h"

namespace etprof {
namespace {

// web/dist/index.html, embedded by cmake/EmbedText.cmake.
constexpr char kPageText[] =
#include "report_page.inc"
    ;
constexpr std::string_view kPage(kPageText, sizeof(kPageText) - 1);

// The page reads elements with these ids (web/src/report.ts); they precede the element that draws the page.
constexpr std::string_view kInsertionPoint = R"(<div id="app">)";
constexpr std::string_view kReportId = "etprof-report", kTimelineId = "etprof-timeline",
                           kDocumentId = "etprof-document";

// Writes the bytes in base64 (RFC 4648).
void WriteBase64(const std::string& bytes, std::ostream& out) {
  using namespace boost::archive::iterators;
  using Digits = base64_from_binary<transform_width<const char*, 6, 8>>;
  std::copy(Digits(bytes.data()), Digits(bytes.data() + bytes.size()), std::ostreambuf_iterator<char>(out));
  for (std::size_t i = bytes.size(); i % 3 != 0; ++i) out << '=';
}

// Reverts HtmlAttribute. "&amp;" comes last: decoded earlier, its ampersand could form another entity.
std::string UnescapeAttribute(const std::string& text) {
  return ReplaceAll(ReplaceAll(ReplaceAll(text, "&lt;", "<"), "&quot;", "\""), "&amp;", "&");
}

// Writes an element that holds the output of `write`, compressed; `attributes` are "" or begin with a space.
void WriteDataElement(std::string_view id, const std::string& attributes,
                      const std::function<void(std::ostream&)>& write, std::ostream& out) {
  std::ostringstream packed;
  WriteGzip(packed, write);
  out << "<script type=\"application/octet-stream\" id=\"" << id << '"' << attributes << '>';
  WriteBase64(packed.str(), out);
  out << "</script>\n";
}

// Writes the page; `write_data` writes the elements with the data.
void WritePage(const std::function<void()>& write_data, std::ostream& out) {
  const std::size_t at = kPage.find(kInsertionPoint);
  if (at == std::string_view::npos) throw std::logic_error("the page has no place for a report");
  out << kPage.substr(0, at);
  write_data();
  out << kPage.substr(at);
}

constexpr std::size_t kMaxRowsWithoutCut = 100;

// The rows of these tables are also rows of the "Operators" view, which only the page of a report has.
constexpr std::string_view kTablesInOperatorsView[] = {"report_operators", "program_changes"};

// Returns the parts that the page shows. Long tables lose the rows that are available elsewhere, and tables
// with only such rows are dropped. The page of a report keeps everything that a command would print: in its
// views, else in the table itself.
std::vector<show::Part> SelectPageParts(std::vector<show::Part> parts, bool is_report) {
  const auto is_folded = [](const show::Row& row) { return row.visibility == show::Visibility::kFolded; };
  std::vector<show::Part> page_parts;
  for (show::Part& part : parts) {
    auto* const table = std::get_if<show::Table>(&part);
    const bool has_rows_elsewhere = table != nullptr && !table->hidden_rows_hint.empty();
    if (has_rows_elsewhere && std::ranges::all_of(table->rows, is_folded)) continue;
    std::string omitted_rows;
    const bool printed_by_command =
        is_report && has_rows_elsewhere && table->hidden_rows_hint.find("--csv") != std::string::npos;
    const bool in_view = printed_by_command && std::ranges::find(kTablesInOperatorsView, table->id) !=
                                                   std::end(kTablesInOperatorsView);
    if (has_rows_elsewhere && table->rows.size() > kMaxRowsWithoutCut && (in_view || !printed_by_command)) {
      if (!in_view)
        omitted_rows = PrintedTable(*table, table->screen_rows, std::not_fn(is_folded)).omitted_rows + ' ' +
                       table->hidden_rows_hint;
      std::erase_if(table->rows, is_folded);
      table->rows.resize(std::min(table->rows.size(), table->screen_rows));
    }
    const show::Visibility visibility = table != nullptr ? table->visibility : show::Visibility::kDefault;
    page_parts.push_back(std::move(part));
    if (!omitted_rows.empty()) page_parts.emplace_back(show::Paragraph{std::move(omitted_rows), visibility});
  }
  return page_parts;
}

void WriteDocumentElement(show::Document document, bool is_report, std::ostream& out) {
  for (auto* const sections : {&document.sections, &document.appendix}) {
    for (show::Section& section : *sections)
      section.parts = SelectPageParts(std::move(section.parts), is_report);
  }
  WriteDataElement(kDocumentId, "", [&](std::ostream& text) { RenderDocumentJson(document, text); }, out);
}

}  // namespace

void RenderHtml(const Report& report, std::ostream& out) {
  RenderHtmlWithJson(report, [&](std::ostream& text) { RenderAnalysisJson(report, text); }, out);
}

void RenderHtmlWithJson(const Report& report, const std::function<void(std::ostream&)>& analysis_json,
                        std::ostream& out) {
  // The report's title, or else a name if it has to state the method or to cover several models. Without
  // either attribute, the page shows the model's name.
  std::string heading;
  if (!report.title.empty()) {
    heading = fmt::format(" data-title=\"{}\"", HtmlAttribute(report.title));
  } else if (const std::string method = NonDefaultMethod(report); !method.empty()) {
    heading = fmt::format(" data-name=\"{}\"",
                          HtmlAttribute(fmt::format("{}, method {}", ModelText(report), method)));
  } else if (!report.common_model_prefix.empty()) {
    heading = fmt::format(" data-name=\"{}\"", HtmlAttribute(ModelText(report)));
  }
  const std::function<void(std::ostream&)> elements[] = {
      [&](std::ostream& element) { WriteDataElement(kReportId, heading, analysis_json, element); },
      [&](std::ostream& element) {
        WriteDataElement(
            kTimelineId, "", [&](std::ostream& text) { RenderTimelineJson(report, text); }, element);
      },
      [&](std::ostream& element) { WriteDocumentElement(show::MakeReportDocument(report), true, element); }};
  std::string rendered[std::size(elements)];
  ParallelFor(std::size(elements), 0, [&](std::size_t i) {
    std::ostringstream element;
    elements[i](element);
    rendered[i] = std::move(element).str();
  });
  WritePage([&] { std::ranges::copy(rendered, std::ostream_iterator<std::string>(out)); }, out);
}

void RenderDocumentHtml(const show::Document& document, std::ostream& out) {
  WritePage([&] { WriteDocumentElement(document, false, out); }, out);
}

std::string ReadTitle(std::istream& page) {
  constexpr std::string_view kAttribute = " data-title=\"";
  for (std::string line; std::getline(page, line);) {
    const std::size_t at = line.find(kAttribute);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + kAttribute.size(), end = line.find('"', begin);
    return UnescapeAttribute(line.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return "";
}

}  // namespace etprof
