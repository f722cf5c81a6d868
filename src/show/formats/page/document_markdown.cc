#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "core/text/escape.h"
#include "show/formats.h"
#include "show/formats/printed_table.h"

namespace etprof {
namespace {

// Writes Markdown. String literals are markup; all other text may come from users and is escaped
// (EscapeMarkdown).
class MarkdownWriter {
 public:
  explicit MarkdownWriter(std::ostream& out) : out_(&out) {}

  // A literal: text from elsewhere never has this type.
  MarkdownWriter& operator<<(const char* markup) {
    *out_ << markup;
    return *this;
  }
  MarkdownWriter& operator<<(char markup) {
    *out_ << markup;
    return *this;
  }
  MarkdownWriter& operator<<(int number) {
    *out_ << number;
    return *this;
  }
  MarkdownWriter& operator<<(const std::string& text) {
    *out_ << EscapeMarkdown(text);
    return *this;
  }
  void Heading(const std::string& title, int depth) {
    *this << std::string(static_cast<std::size_t>(depth), '#').c_str() << ' ' << title << "\n\n";
  }
  // Returns what `write` writes, instead of writing it.
  std::string Capture(const std::function<void()>& write) {
    std::ostringstream text;
    std::ostream* const out = std::exchange(out_, &text);
    write();
    out_ = out;
    return text.str();
  }

 private:
  std::ostream* out_;
};

class SectionMarkdown {
 public:
  SectionMarkdown(int depth, show::Visibility visibility, const std::optional<show::TimeRange>& time_range,
                  MarkdownWriter& out)
      : depth_(depth), max_visibility_(visibility), time_range_(time_range), out_(out) {}

  void Write(const show::Section& section) {
    if (section.visibility > max_visibility_) return;
    table_depth_ = section.title.empty() ? depth_ : depth_ + 1;
    WriteFoldable(section.visibility, section.title, depth_, [&] {
      for (const auto& part : section.parts)
        std::visit([&](const auto& content) { WritePart(content); }, part);
    });
  }

 private:
  void WritePart(const show::Paragraph& paragraph) {
    if (paragraph.visibility <= max_visibility_) out_ << ToText(paragraph.text, time_range_) << "\n\n";
  }

  void WritePart(const show::List& list) {
    if (list.visibility > max_visibility_ || list.items.empty()) return;
    if (!list.title.empty()) out_ << list.title << ":\n\n";
    const bool brief = max_visibility_ == show::Visibility::kBrief;
    std::size_t num_shown = 0;
    for (const show::List::Item& item : list.items) {
      if (brief && (item.visibility > show::Visibility::kDefault || num_shown == list.screen_items)) continue;
      ++num_shown;
      if (list.numbered) {
        out_ << static_cast<int>(num_shown) << ". ";
      } else {
        out_ << "- ";
      }
      out_ << ToText(item.text, time_range_) << '\n';
      for (const show::Text& detail : item.details) {
        if (!brief) out_ << (list.numbered ? "   - " : "  - ") << ToText(detail, time_range_) << '\n';
      }
    }
    out_ << '\n';
  }

  void WritePart(const show::Facts& facts) { WritePart(show::MakeFactsTable(facts)); }

  void WritePart(const show::Table& table) {
    const bool brief = max_visibility_ == show::Visibility::kBrief;
    if (brief && table.visibility > show::Visibility::kDefault) return;
    // A page shows all rows, unless hidden rows are available elsewhere.
    const bool has_all_rows = table.hidden_rows_hint.empty();
    const show::Table text =
        PrintedTable(table, has_all_rows ? SIZE_MAX : table.screen_rows, [&](const show::Row& row) {
          return row.role != show::Row::Role::kScreenOnly &&
                 (has_all_rows || row.visibility != show::Visibility::kFolded);
        });
    if (text.rows.empty()) return;
    const show::Visibility visibility = brief && table.visibility == show::Visibility::kDefault
                                            ? show::Visibility::kFolded
                                            : table.visibility;
    WriteFoldable(visibility, table.title, table_depth_, [&] {
      WriteRows(text);
      out_ << '\n';
      // `hidden_rows_hint` already is Markdown: it contains table names as code.
      if (!text.omitted_rows.empty())
        out_ << text.omitted_rows << ' ' << table.hidden_rows_hint.c_str() << "\n\n";
    });
  }

  void WriteRows(const show::Table& table) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const bool has_text =
          std::ranges::any_of(table.rows, [&](const show::Row& row) { return !row.cells[i].text.empty(); });
      if (has_text && (max_visibility_ > show::Visibility::kBrief ||
                       table.columns[i].visibility <= show::Visibility::kDefault))
        columns.push_back(i);
    }
    out_ << '|';
    for (const std::size_t i : columns) out_ << ' ' << table.columns[i].title << " |";
    out_ << "\n|";
    for (const std::size_t i : columns) out_ << (table.columns[i].align_right ? " ---: |" : " --- |");
    out_ << '\n';
    for (const show::Row& row : table.rows) {
      out_ << "| ";
      for (int level = 0; level < row.depth; ++level) out_ << "· ";
      for (const std::size_t i : columns)
        out_ << (i == columns.front() ? "" : " ") << row.cells[i].text << " |";
      out_ << '\n';
    }
  }

  void WritePart(const auto&) {}  // charts: tables next to them have their values

  // Writes the content under its heading, or folded; writes nothing if the content is empty.
  void WriteFoldable(show::Visibility visibility, const std::string& title, int depth,
                     const std::function<void()>& write) {
    const std::string content = out_.Capture(write);
    if (content.empty()) return;
    const bool folded = visibility == show::Visibility::kFolded && !title.empty();
    if (folded) {
      out_ << "<details><summary>" << title << "</summary>\n\n";
    } else if (!title.empty()) {
      out_.Heading(title, depth);
    }
    out_ << content.c_str();
    if (folded) out_ << "</details>\n\n";
  }

  int depth_;
  int table_depth_ = 0;  // depth of table headings
  show::Visibility max_visibility_;
  const std::optional<show::TimeRange>& time_range_;  // the document's range of times

  MarkdownWriter& out_;
};

}  // namespace

void RenderDocumentMarkdown(const show::Document& document, int depth, std::ostream& file,
                            show::Visibility max_visibility) {
  MarkdownWriter out(file);
  out.Heading(show::DocumentHeading(document), depth);
  for (const show::Answer& answer : document.answers) {
    out << "**" << ToText(answer.text, document.time_range) << "**";
    if (!answer.precision.empty()) out << ' ' << ToText(answer.precision, document.time_range);
    out << "\n\n";
  }
  if (!document.measured.empty()) out << document.measured << "\n\n";
  SectionMarkdown page(depth + 1, max_visibility, document.time_range, out);
  for (const show::Section& section : document.sections) page.Write(section);
  bool has_notes = false;
  for (const show::Note& note : document.notes) {
    if (note.visibility > max_visibility) continue;
    if (!has_notes && !document.notes_title.empty() && max_visibility > show::Visibility::kBrief)
      out.Heading(document.notes_title, depth + 1);
    has_notes = true;
    out << "- " << ToText(note, document.time_range) << '\n';
  }
  if (has_notes) out << '\n';
  for (const show::Section& section : document.appendix) page.Write(section);
  if (!document.method.empty() && max_visibility > show::Visibility::kBrief) out << document.method << "\n\n";
}

}  // namespace etprof
