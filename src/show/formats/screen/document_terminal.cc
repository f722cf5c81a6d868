#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/text/escape.h"
#include "core/units.h"
#include "core/views.h"
#include "show/formats.h"
#include "show/formats/printed_table.h"
#include "show/formats/screen/plots.h"
#include "show/formats/screen/screen_table.h"
#include "show/formats/screen/terminal_text.h"

namespace etprof {
namespace {

constexpr int kMinLastColumn = 12, kMinVerdictColumn = 24;
constexpr int kMaxVariantName = 14;  // maximum width of a variant's name in a heading
constexpr const char* kShowAllHint = " (--all shows them)";

// Writes labels and texts in two columns. A label that equals the label above is left blank.
void WriteLabeled(const std::vector<show::Fact>& texts, int width, std::ostream& out) {
  int widest = 0;
  for (const auto& [label, text] : texts) widest = std::max(widest, DisplayWidth(EscapeToOneLine(label)));
  std::string previous;
  for (const auto& [label, text] : texts) {
    WriteWrapped(label == previous ? "" : "  " + EscapeToOneLine(label), text, widest + 4, width, out);
    previous = label;
  }
}

class SectionRenderer {
 public:
  // `has_document_hint`: true if the document itself says how to see everything.
  SectionRenderer(const TerminalOptions& options, bool has_document_hint,
                  const std::optional<show::TimeRange>& time_range, std::ostream& out)
      : options_(options), has_document_hint_(has_document_hint), time_range_(time_range), out_(out) {}

  void Draw(const show::Section& section) {
    if (!IsShown(section.visibility)) return;
    std::ostringstream drawn;
    SectionRenderer parts(options_, has_document_hint_, time_range_, drawn);
    for (const auto& part : section.parts) {
      parts.is_first_ = section.title.empty() && drawn.str().empty();
      const auto before = drawn.tellp();
      std::visit([&](const auto& content) { parts.DrawPart(content); }, part);
      parts.is_below_table_ = std::holds_alternative<show::Table>(part) && drawn.tellp() > before;
    }
    if (drawn.str().empty()) return;
    if (!section.title.empty())
      out_ << "  " << Paint(EscapeToOneLine(section.title), sgr::kBold, options_.colors) << '\n';
    out_ << drawn.str() << '\n';
  }

 private:
  bool IsShown(show::Visibility visibility) const {
    return options_.all || visibility <= show::Visibility::kDefault;
  }
  void WriteParagraph(const std::string& text) { WriteWrapped("  ", text, 2, options_.width, out_); }

  void DrawPart(const show::Paragraph& paragraph) {
    if (!IsShown(paragraph.visibility)) return;
    if (is_below_table_) out_ << '\n';
    WriteParagraph(ToText(paragraph.text, time_range_));
  }

  void DrawPart(const show::List& list) {
    if (!IsShown(list.visibility)) return;
    if (!list.title.empty()) WriteParagraph(list.title + ":");
    std::size_t num_shown = 0;
    for (const show::List::Item& item : list.items) {
      if (!IsShown(item.visibility) || (!options_.all && num_shown == list.screen_items)) continue;
      ++num_shown;
      const std::string mark = list.numbered ? fmt::format("  {}.", num_shown) : "  ";
      WriteWrapped(mark, ToText(item.text, time_range_), list.numbered ? 5 : 4, options_.width, out_);
      if (!options_.all) continue;
      for (const show::Text& detail : item.details)
        WriteWrapped("       ", ToText(detail, time_range_), 9, options_.width, out_);
    }
    if (num_shown < list.items.size() && !has_document_hint_)
      WriteParagraph(fmt::format("and {} more{}", list.items.size() - num_shown, kShowAllHint));
  }

  void DrawPart(const show::Distributions& distributions) {
    DrawDistributions(distributions, options_, out_);
  }

  void DrawPart(const show::Facts& facts) {
    if (!IsShown(facts.visibility)) return;
    if (!facts.title.empty()) WriteParagraph(facts.title + ":");
    WriteLabeled(facts.facts, options_.width, out_);
  }

  void DrawPart(const show::Table& table) {
    if (table.rows.empty()) return;
    if (!IsShown(table.visibility)) {
      if (table.visibility == show::Visibility::kFolded) WriteParagraph(table.title + kShowAllHint);
      return;
    }
    const auto is_shown = [&](const show::Row& row) {
      return row.role == show::Row::Role::kScreenOnly ? !options_.all : IsShown(row.visibility);
    };
    ScreenTable screen{PrintedTable(table, options_.all ? SIZE_MAX : table.screen_rows, is_shown)};
    if (screen.rows.empty()) return;
    for (std::size_t i = table.columns.size(); i-- > 1;) {
      screen.columns[i].never_dropped = table.columns[i].never_dropped || HasSpeedups(table, i);
      if (!IsShown(table.columns[i].visibility)) screen.EraseColumn(i);
    }
    for (show::Table::Column& column : screen.columns) column.title = EscapeToOneLine(column.title);
    ShortenVariantNames(screen);
    for (show::Row& row : screen.rows) {
      for (std::size_t i = 0; i < screen.columns.size(); ++i) {
        const show::Table::Column& column = screen.columns[i];
        const show::Cell& cell = row.cells[i];
        std::string text =
            options_.all || cell.visibility <= show::Visibility::kDefault ? EscapeToOneLine(cell.text) : "";
        if (i == 0) text.insert(0, static_cast<std::size_t>(2 * row.depth), ' ');
        if (column.max_width > 0) text = Truncate(text, column.max_width, column.truncation);
        row.cells[i].text = std::move(text);
      }
    }
    if (!letters_.empty()) {
      screen.columns.front().title.insert(0, "   ");
      letters_.resize(screen.rows.size());
      for (std::size_t r = 0; r < letters_.size(); ++r)
        screen.rows[r].cells.front().text.insert(0, (letters_[r].empty() ? " " : letters_[r]) + "  ");
    }
    letters_.clear();
    DropEmptyColumns(screen);
    FitLastColumn(screen, table.columns.back().wraps);
    if (!is_first_) out_ << '\n';
    if (!table.title.empty() && options_.all) WriteParagraph(table.title + ":");
    const std::size_t hidden = screen.Draw(options_, out_);
    if (hidden > 0)
      WriteParagraph(CountedText(hidden, "column") + " hidden: the terminal is too narrow" +
                     (has_document_hint_ ? "" : kShowAllHint));
    if (screen.omitted_rows.empty() || has_document_hint_) return;
    out_ << '\n';
    WriteParagraph(screen.omitted_rows +
                   (table.hidden_rows_hint.empty() ? "" : " " + table.hidden_rows_hint) + kShowAllHint);
  }

  void DrawPart(const show::RooflineChart& chart) {
    if (!is_first_) out_ << '\n';
    letters_ = DrawRooflineChart(chart, options_, out_);
  }

  static bool HasSpeedups(const show::Table& table, std::size_t column) {
    return std::ranges::any_of(
        table.rows, [&](const show::Row& row) { return row.cells[column].kind == CellKind::kSpeedup; });
  }

  // Shortens long names of variants in column headings by what they have in common.
  static void ShortenVariantNames(ScreenTable& screen) {
    std::vector<std::string*> titles;
    for (std::size_t i = 1; i < screen.columns.size(); ++i) {
      if (screen.columns[i].truncation == show::Table::Truncation::kKeepDifference)
        titles.push_back(&screen.columns[i].title);
    }
    const std::vector<std::string> names =
        ShortenNames(MapEach(titles, [](const std::string* title) { return *title; }), kMaxVariantName);
    for (std::size_t i = 0; i < titles.size(); ++i) *titles[i] = names[i];
  }

  // The first column stays: it names the rows, and every further table repeats it.
  static void DropEmptyColumns(ScreenTable& table) {
    for (std::size_t i = table.columns.size(); i-- > 1;) {
      if (std::ranges::all_of(table.rows, [&](const show::Row& row) { return row.cells[i].text.empty(); }))
        table.EraseColumn(i);
    }
  }

  // Truncates the text of the last column, or wraps it into further rows, if the columns that may not be
  // dropped leave too little room.
  void FitLastColumn(ScreenTable& table, bool wraps) const {
    if (table.columns.size() < 2 || table.columns.back().align_right) return;
    int other_columns = 2;
    for (std::size_t i = 0; i + 1 < table.columns.size(); ++i) {
      if (table.columns[i].drop_priority > 0) continue;
      int widest = DisplayWidth(table.columns[i].title);
      for (const auto& row : table.rows) widest = std::max(widest, DisplayWidth(row.cells[i].text));
      other_columns += (i == 0 ? std::min(widest, table.min_name_width) : widest) + 2;
    }
    const int min_width = table.columns.back().never_dropped ? kMinVerdictColumn : kMinLastColumn;
    const int room = std::max(min_width, options_.width - other_columns);
    std::vector<show::Row> rows;
    for (show::Row& row : table.rows) {
      std::string& text = row.cells.back().text;
      if (!wraps || DisplayWidth(text) <= room) {
        text = TruncateEnd(text, room);
        rows.push_back(std::move(row));
        continue;
      }
      std::stringstream lines;
      WriteWrapped("", text, 0, room, lines);
      for (std::string line; std::getline(lines, line);) {
        while (!line.empty()) {  // a path may be wider than a line, and is shown completely
          text = line.substr(0, BytesThatFit(line, room));
          line.erase(0, text.size());
          rows.push_back(row);
          for (show::Cell& cell : row.cells) cell = {};
        }
      }
    }
    table.rows = std::move(rows);
  }

  void DrawPart(const show::Chart& chart) {
    if (!chart.positions.empty()) return;
    for (const show::Chart::Series& series : chart.series) {
      std::optional<double> low, high;
      for (const std::optional<double>& value : series.values) {
        if (!value) continue;
        low = std::min(low.value_or(*value), *value);
        high = std::max(high.value_or(*value), *value);
      }
      if (!low) continue;
      const std::string low_text = show::ToText(series.cell(*low)),
                        high_text = show::ToText(series.cell(*high));
      out_ << fmt::format("    {:<12}", series.name) << Sparkline(series.values, *low, *high) << "  "
           << low_text << (low_text == high_text ? "" : " to " + high_text) << '\n';
    }
  }

  // Draws the values in eight levels from the smallest to the largest; absent values are spaces. If there are
  // more values than columns, a column is the mean of several values.
  std::string Sparkline(const std::vector<std::optional<double>>& values, double low, double high) const {
    static const char* const kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const auto room = static_cast<std::size_t>(std::max(10, options_.width - 45));
    const std::size_t step = (values.size() + room - 1) / room;
    std::string line;
    for (std::size_t i = 0; i < values.size(); i += step) {
      double sum = 0;
      int count = 0;
      for (std::size_t j = i; j < std::min(i + step, values.size()); ++j) {
        sum += values[j].value_or(0);
        count += values[j] ? 1 : 0;
      }
      if (count == 0) {
        line += ' ';
        continue;
      }
      const double position = high > low ? (sum / count - low) / (high - low) : 0;
      line += kLevels[std::clamp(static_cast<int>(position * 8), 0, 7)];
    }
    return line;
  }

  const TerminalOptions& options_;
  bool has_document_hint_;
  const std::optional<show::TimeRange>& time_range_;  // the document's range of times
  std::ostream& out_;
  bool is_first_ = false;  // nothing in the section is drawn yet, not even a title
  bool is_below_table_ = false;
  std::vector<std::string> letters_;  // letters of the chart above, for the rows of the next table
};

class DocumentRenderer {
 public:
  DocumentRenderer(const show::Document& document, const TerminalOptions& options, std::ostream& out)
      : document_(document), options_(options), out_(out) {}

  void Draw() {
    if (const std::string heading = show::DocumentHeading(document_); !heading.empty()) {
      WritePainted(heading, sgr::kBold);
      out_ << '\n';
    }
    if (!document_.answers_last) WriteAnswers();
    if (!document_.measured.empty()) {
      WriteWrapped("", document_.measured, 0, options_.width, out_);
      out_ << '\n';
    } else if (!document_.answers_last && !document_.answers.empty()) {
      out_ << '\n';
    }
    SectionRenderer screen(options_, !document_.hint.empty(), document_.time_range, out_);
    for (const show::Section* const section : show::AllSections(document_)) screen.Draw(*section);
    const bool has_notes = WriteNotes();
    if (options_.all && !document_.method.empty())
      WriteWrapped("  ", document_.method, 2, options_.width, out_);
    if (!document_.answers_last || document_.answers.empty()) return;
    if (has_notes) out_ << '\n';
    WriteAnswers();
  }

 private:
  // Paints wrapped text as a whole: painted word by word, it would not wrap.
  void WritePainted(const std::string& text, std::string_view color) {
    std::ostringstream wrapped;
    WriteWrapped("", text, 0, options_.width, wrapped);
    out_ << Paint(wrapped.str(), color, options_.colors);
  }

  // Writes the notes. Returns whether there are any.
  bool WriteNotes() {
    std::vector<show::Fact> notes;
    std::map<std::string, std::size_t> notes_per_label;
    std::size_t num_omitted = 0;
    for (const show::Note& note : document_.notes) {
      if (!options_.all && note.visibility > show::Visibility::kDefault) continue;
      if (!options_.all && notes_per_label[note.label]++ >= document_.screen_notes) {
        ++num_omitted;
      } else {
        notes.push_back({note.label, ToText(note.text, document_.time_range)});
      }
    }
    if (num_omitted > 0) notes.push_back({"", fmt::format("and {} more{}", num_omitted, kShowAllHint)});
    if (!options_.report_path.empty()) notes.push_back({"report", options_.report_path});
    if (!options_.all && !document_.hint.empty()) notes.push_back({"", document_.hint});
    WriteLabeled(notes, options_.width, out_);
    return !notes.empty();
  }

  void WriteAnswers() {
    for (const show::Answer& answer : document_.answers) {
      const std::string text = EscapeToOneLine(ToText(answer.text, document_.time_range)),
                        precision = EscapeToOneLine(ToText(answer.precision, document_.time_range));
      if (!precision.empty() && DisplayWidth(text + precision) + 3 <= options_.width) {
        out_ << Paint(text, ToneColor(answer.tone), options_.colors) << "   " << precision << '\n';
        continue;
      }
      WritePainted(text, ToneColor(answer.tone));
      if (!precision.empty()) WriteWrapped("  ", precision, 2, options_.width, out_);
    }
  }

  const show::Document& document_;
  const TerminalOptions& options_;
  std::ostream& out_;
};

}  // namespace

void RenderDocumentTerminal(const show::Document& document, const TerminalOptions& options,
                            std::ostream& out) {
  TerminalOptions widened_options = options;
  widened_options.width = std::max(kMinTerminalWidth, options.width);
  DrawForTerminal(widened_options, out, [&](const TerminalOptions& terminal, std::ostream& text) {
    DocumentRenderer(document, terminal, text).Draw();
  });
}

}  // namespace etprof
