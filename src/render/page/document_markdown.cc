#include <fmt/format.h>

#include <algorithm>

#include "render/document.h"
#include "render/table_text.h"
#include "say/wording.h"

namespace etprof {
namespace {

class SectionPage {
 public:
  SectionPage(int depth, say::Level most, markdown::Out& out) : depth_(depth), most_(most), out_(out) {}

  void Write(const say::Section& section) {
    if (section.level > most_) return;
    Heading(section.title, depth_);
    for (const auto& part : section.parts) std::visit([&](const auto& of) { Part(of); }, part);
  }

 private:
  void Heading(const std::string& title, int depth) {
    if (!title.empty())
      out_ << std::string(static_cast<std::size_t>(depth), '#').c_str() << ' ' << title << "\n\n";
  }

  void Part(const say::Paragraph& paragraph) {
    if (paragraph.level <= most_) out_ << paragraph.text << "\n\n";
  }

  void Part(const say::List& list) {
    if (list.level > most_ || list.items.empty()) return;
    if (!list.title.empty()) out_ << list.title << ":\n\n";
    const bool brief = most_ == say::Level::kBrief;
    const std::size_t shown = brief ? std::min(list.items.size(), list.usual_items) : list.items.size();
    for (std::size_t i = 0; i < shown; ++i) {
      if (list.numbered) {
        out_ << static_cast<int>(i) + 1 << ". ";
      } else {
        out_ << "- ";
      }
      out_ << list.items[i].text << '\n';
      for (const std::string& detail : list.items[i].details) {
        if (!brief) out_ << (list.numbered ? "   - " : "  - ") << detail << '\n';
      }
    }
    out_ << '\n';
  }

  void Part(const say::Facts& facts) {
    if (facts.level > most_ || facts.facts.empty()) return;
    Heading(facts.title, depth_ + 1);
    Table table{{{""}, {""}}, {}};
    for (const auto& [name, value] : facts.facts) table.AddRow({name, value});
    out_ << table << '\n';
  }

  void Part(const say::Table& table) {
    const bool brief = most_ == say::Level::kBrief;
    if (table.rows.empty() || (brief && table.level > most_)) return;
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
    const TableText text = TextOf(table);
    Table shown;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      shown.columns.push_back(
          {text.titles[i], table.columns[i].right ? Table::Align::kRight : Table::Align::kLeft});
    }
    for (std::size_t r = 0; r < rows; ++r) {
      std::vector<std::string> cells;
      for (const TableText::Cell& cell : text.rows[r]) cells.push_back(cell.text);
      for (int level = 0; level < table.rows[r].depth; ++level) cells.front().insert(0, "· ");
      shown.AddRow(std::move(cells));
    }
    return shown;
  }

  void Part(const say::Chart&) {}  // its table says it

  int depth_;
  say::Level most_;
  markdown::Out& out_;
};

}  // namespace

void WriteSection(const say::Section& section, int depth, markdown::Out& out, say::Level most) {
  SectionPage(depth, most, out).Write(section);
}

void RenderDocumentMarkdown(const say::Document& document, int depth, std::ostream& file, say::Level most) {
  markdown::Out out(file);
  out << std::string(static_cast<std::size_t>(depth), '#').c_str() << ' ' << say::HeadingOf(document)
      << "\n\n";
  for (const say::Answer& answer : document.answers) {
    out << "**" << answer.text << "**";
    if (!answer.rest.empty()) out << ' ' << answer.rest;
    out << "\n\n";
  }
  for (const say::Section& section : document.sections) WriteSection(section, depth + 1, out, most);
  for (const std::string& note : document.notes) out << "- " << note << '\n';
  if (!document.notes.empty()) out << '\n';
  if (!document.method.empty() && most > say::Level::kBrief) out << document.method << "\n\n";
}

}  // namespace etprof
