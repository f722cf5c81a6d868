#include <fmt/format.h>

#include <algorithm>

#include "render/document.h"
#include "say/wording.h"

namespace etprof {
namespace {

class SectionPage {
 public:
  SectionPage(int depth, markdown::Out& out) : depth_(depth), out_(out) {}

  void Write(const say::Section& section) {
    Heading(section.title, depth_);
    for (const auto& part : section.parts) std::visit([&](const auto& of) { Part(of); }, part);
  }

 private:
  void Heading(const std::string& title, int depth) {
    if (!title.empty())
      out_ << std::string(static_cast<std::size_t>(depth), '#').c_str() << ' ' << title << "\n\n";
  }

  void Part(const say::Paragraph& paragraph) { out_ << paragraph.text << "\n\n"; }

  void Part(const say::List& list) {
    if (!list.title.empty()) out_ << list.title << ":\n\n";
    for (const std::string& line : list.lines) out_ << "- " << line << '\n';
    out_ << '\n';
  }

  void Part(const say::Table& table) {
    if (table.rows.empty()) return;
    const bool folded = table.level == say::Level::kFolded;
    if (folded) {
      out_ << "<details><summary>" << table.title << "</summary>\n\n";
    } else {
      Heading(table.title, depth_ + 1);
    }
    const std::size_t shown =
        table.elsewhere.empty() ? table.rows.size() : std::min(table.rows.size(), table.usual_rows);
    out_ << Shown(table, shown) << '\n';
    if (shown < table.rows.size())
      out_.Format("and {} more {}\n\n", table.rows.size() - shown, table.elsewhere);
    if (folded) out_ << "</details>\n\n";
  }

  static Table Shown(const say::Table& table, std::size_t rows) {
    double largest = 0;
    for (const auto& row : table.rows) {
      for (const say::Cell& cell : row) {
        if (const auto* time = std::get_if<say::Time>(&cell.value)) largest = std::max(largest, time->ns);
      }
    }
    const markdown::Times times(largest);
    Table shown;
    for (const say::Table::Column& column : table.columns)
      shown.columns.push_back({column.title, column.right ? Table::Align::kRight : Table::Align::kLeft});
    for (std::size_t i = 0; i < rows; ++i) {
      std::vector<std::string> cells;
      for (const say::Cell& cell : table.rows[i]) {
        const auto* time = std::get_if<say::Time>(&cell.value);
        cells.push_back(time != nullptr ? times(time->ns) : say::TextOf(cell));
      }
      shown.AddRow(std::move(cells));
    }
    return shown;
  }

  void Part(const say::Chart&) {}  // its table says it

  int depth_;
  markdown::Out& out_;
};

}  // namespace

void WriteSection(const say::Section& section, int depth, markdown::Out& out) {
  SectionPage(depth, out).Write(section);
}

void RenderDocumentMarkdown(const say::Document& document, int depth, std::ostream& file) {
  markdown::Out out(file);
  out << std::string(static_cast<std::size_t>(depth), '#').c_str() << ' ' << say::HeadingOf(document)
      << "\n\n";
  if (!document.answer.empty()) out << "**" << document.answer << "**\n\n";
  for (const say::Section& section : document.sections) WriteSection(section, depth + 1, out);
  for (const std::string& note : document.notes) out << "- " << note << '\n';
  if (!document.notes.empty()) out << '\n';
  if (!document.method.empty()) out << document.method << "\n\n";
}

}  // namespace etprof
