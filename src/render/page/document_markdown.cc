#include <fmt/format.h>

#include <algorithm>
#include <functional>

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
    Folded(section.level, section.title, depth_, [&] {
      for (const auto& part : section.parts) std::visit([&](const auto& of) { Part(of); }, part);
    });
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

  void Part(const say::Facts& facts) { Part(say::TableOf(facts)); }

  void Part(const say::Table& table) {
    const bool brief = most_ == say::Level::kBrief;
    if (table.rows.empty() || (brief && table.level > most_)) return;
    Folded(table.level, table.title, depth_ + 1, [&] {
      const bool whole = table.elsewhere.empty();
      const TableText text = TextOf(table, whole ? SIZE_MAX : table.usual_rows, [&](const say::Row& row) {
        return whole || row.level != say::Level::kFolded;
      });
      out_ << TableOf(table, text) << '\n';
      if (!text.left.empty()) out_.Format("{} {}\n\n", text.left, table.elsewhere);
    });
  }

  static Table TableOf(const say::Table& table, const TableText& text) {
    Table shown;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      shown.columns.push_back(
          {text.titles[i], table.columns[i].right ? Table::Align::kRight : Table::Align::kLeft});
    }
    for (const TableText::Row& row : text.rows) {
      std::vector<std::string> cells;
      for (const TableText::Cell& cell : row.cells) cells.push_back(cell.text);
      for (int level = 0; level < row.depth; ++level) cells.front().insert(0, "· ");
      shown.AddRow(std::move(cells));
    }
    return shown;
  }

  void Part(const say::Chart&) {}  // its table says it
  void Part(const say::Roofs&) {}  // likewise

  // Under its heading, or what unfolds it.
  void Folded(say::Level level, const std::string& title, int depth, const std::function<void()>& write) {
    const bool folded = level == say::Level::kFolded && !title.empty();
    if (folded) {
      out_ << "<details><summary>" << title << "</summary>\n\n";
    } else {
      Heading(title, depth);
    }
    write();
    if (folded) out_ << "</details>\n\n";
  }

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
