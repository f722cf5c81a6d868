#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "core/text/escape.h"
#include "render/document.h"
#include "render/table_text.h"

namespace etprof {
namespace {

// A file of Markdown: what is written as a literal is Markdown; every other text is anybody's, and is shown
// as it is (EscapeMarkdown).
class MarkdownOut {
 public:
  explicit MarkdownOut(std::ostream& out) : out_(&out) {}

  // A literal: nobody else's text is of this type.
  MarkdownOut& operator<<(const char* markup) {
    *out_ << markup;
    return *this;
  }
  MarkdownOut& operator<<(char markup) {
    *out_ << markup;
    return *this;
  }
  MarkdownOut& operator<<(int number) {
    *out_ << number;
    return *this;
  }
  MarkdownOut& operator<<(const std::string& text) {
    *out_ << EscapeMarkdown(text);
    return *this;
  }
  void Heading(const std::string& title, int depth) {
    *this << std::string(static_cast<std::size_t>(depth), '#').c_str() << ' ' << title << "\n\n";
  }
  // What `write` writes here, in place of writing it.
  std::string Of(const std::function<void()>& write) {
    std::ostringstream text;
    std::ostream* const out = std::exchange(out_, &text);
    write();
    out_ = out;
    return text.str();
  }

 private:
  std::ostream* out_;
};

class SectionPage {
 public:
  SectionPage(int depth, say::Level most, const std::optional<say::Span>& span, MarkdownOut& out)
      : depth_(depth), most_(most), span_(span), out_(out) {}

  void Write(const say::Section& section) {
    if (section.level > most_) return;
    tables_ = section.title.empty() ? depth_ : depth_ + 1;
    Folded(section.level, section.title, depth_, [&] {
      for (const auto& part : section.parts) std::visit([&](const auto& of) { Part(of); }, part);
    });
  }

 private:
  void Part(const say::Paragraph& paragraph) {
    if (paragraph.level <= most_) out_ << TextOf(paragraph.text, span_) << "\n\n";
  }

  void Part(const say::List& list) {
    if (list.level > most_ || list.items.empty()) return;
    if (!list.title.empty()) out_ << list.title << ":\n\n";
    const bool brief = most_ == say::Level::kBrief;
    std::size_t shown = 0;
    for (const say::List::Item& item : list.items) {
      if (brief && (item.level > say::Level::kUsual || shown == list.usual_items)) continue;
      ++shown;
      if (list.numbered) {
        out_ << static_cast<int>(shown) << ". ";
      } else {
        out_ << "- ";
      }
      out_ << TextOf(item.text, span_) << '\n';
      for (const say::Text& detail : item.details) {
        if (!brief) out_ << (list.numbered ? "   - " : "  - ") << TextOf(detail, span_) << '\n';
      }
    }
    out_ << '\n';
  }

  void Part(const say::Facts& facts) { Part(say::TableOf(facts)); }

  void Part(const say::Table& table) {
    const bool brief = most_ == say::Level::kBrief;
    if (brief && table.level > say::Level::kUsual) return;
    // Without another place for them, a page has all rows.
    const bool whole = table.elsewhere.empty();
    const TableText text = TextOf(table, whole ? SIZE_MAX : table.usual_rows, [&](const say::Row& row) {
      return row.role != say::Row::Role::kRest && (whole || row.level != say::Level::kFolded);
    });
    if (text.rows.empty()) return;
    const say::Level level = brief && table.level == say::Level::kUsual ? say::Level::kFolded : table.level;
    Folded(level, table.title, tables_, [&] {
      Rows(table, text);
      out_ << '\n';
      // Our own Markdown, with names of tables as code.
      if (!text.left.empty()) out_ << text.left << ' ' << table.elsewhere.c_str() << "\n\n";
    });
  }

  void Rows(const say::Table& table, const TableText& text) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const bool has_words = std::ranges::any_of(
          text.rows, [&](const TableText::Row& row) { return !row.cells[i].text.empty(); });
      if (has_words && (most_ > say::Level::kBrief || table.columns[i].level <= say::Level::kUsual))
        columns.push_back(i);
    }
    out_ << '|';
    for (const std::size_t i : columns) out_ << ' ' << text.titles[i] << " |";
    out_ << "\n|";
    for (const std::size_t i : columns) out_ << (table.columns[i].right ? " ---: |" : " --- |");
    out_ << '\n';
    for (const TableText::Row& row : text.rows) {
      out_ << "| ";
      for (int level = 0; level < row.depth; ++level) out_ << "· ";
      for (const std::size_t i : columns)
        out_ << (i == columns.front() ? "" : " ") << row.cells[i].text << " |";
      out_ << '\n';
    }
  }

  void Part(const say::Chart&) {}  // its table says it
  void Part(const say::Roofs&) {}  // likewise
  void Part(const say::Distributions&) {}

  // Under its heading, or what unfolds it; without anything there is neither.
  void Folded(say::Level level, const std::string& title, int depth, const std::function<void()>& write) {
    const std::string content = out_.Of(write);
    if (content.empty()) return;
    const bool folded = level == say::Level::kFolded && !title.empty();
    if (folded) {
      out_ << "<details><summary>" << title << "</summary>\n\n";
    } else if (!title.empty()) {
      out_.Heading(title, depth);
    }
    out_ << content.c_str();
    if (folded) out_ << "</details>\n\n";
  }

  int depth_;
  int tables_ = 0;  // depth of their titles
  say::Level most_;
  const std::optional<say::Span>& span_;  // of the document
  MarkdownOut& out_;
};

}  // namespace

void RenderDocumentMarkdown(const say::Document& document, int depth, std::ostream& file, say::Level most) {
  MarkdownOut out(file);
  out.Heading(say::HeadingOf(document), depth);
  for (const say::Answer& answer : document.answers) {
    out << "**" << TextOf(answer.text, document.span) << "**";
    if (!answer.rest.empty()) out << ' ' << TextOf(answer.rest, document.span);
    out << "\n\n";
  }
  if (!document.measured.empty()) out << document.measured << "\n\n";
  SectionPage page(depth + 1, most, document.span, out);
  for (const say::Section& section : document.sections) page.Write(section);
  bool noted = false;
  for (const say::Note& note : document.notes) {
    if (note.level > most) continue;
    if (!noted && !document.notes_title.empty() && most > say::Level::kBrief)
      out.Heading(document.notes_title, depth + 1);
    noted = true;
    out << "- " << TextOf(note, document.span) << '\n';
  }
  if (noted) out << '\n';
  for (const say::Section& section : document.appendix) page.Write(section);
  if (!document.method.empty() && most > say::Level::kBrief) out << document.method << "\n\n";
}

}  // namespace etprof
