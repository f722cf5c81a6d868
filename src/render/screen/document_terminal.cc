#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/table.h"
#include "render/document.h"
#include "render/screen/screen_table.h"
#include "render/screen/terminal_text.h"
#include "say/wording.h"

namespace etprof {
namespace {

constexpr int kLeastOfLastColumn = 12;
constexpr const char* kAllShows = " (--all shows them)";

Color ColorOfTone(say::Tone tone) {
  switch (tone) {
    case say::Tone::kGood:
      return Color::kGreen;
    case say::Tone::kBad:
      return Color::kRed;
    case say::Tone::kUnsure:
      return Color::kYellow;
    case say::Tone::kPlain:
      break;
  }
  return Color::kNone;
}

// The unit of the table's times.
TimeScale ScaleOf(const say::Table& table) {
  double smallest = 1e300, largest = 0;
  for (const auto& row : table.rows) {
    for (const say::Cell& cell : row) {
      if (const auto* time = std::get_if<say::Time>(&cell.value)) {
        smallest = std::min(smallest, time->ns);
        largest = std::max(largest, time->ns);
      }
    }
  }
  return ScaleFor(smallest, largest);
}

class SectionScreen {
 public:
  SectionScreen(const TerminalOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void Draw(const say::Section& section) {
    if (!Shown(section.level)) return;
    if (!section.title.empty())
      out_ << "  " << Paint(OneLine(section.title), Color::kBold, options_.colors) << '\n';
    for (const auto& part : section.parts) std::visit([&](const auto& of) { Part(of); }, part);
    out_ << '\n';
  }

 private:
  bool Shown(say::Level level) const { return options_.all || level == say::Level::kUsual; }
  void Line(const std::string& text) { WriteWrapped("  ", text, 2, options_.width, out_); }

  void Part(const say::Paragraph& paragraph) {
    if (Shown(paragraph.level)) Line(paragraph.text);
  }

  void Part(const say::List& list) {
    if (!list.title.empty()) Line(list.title + ":");
    const std::size_t shown =
        options_.all ? list.lines.size() : std::min(list.lines.size(), list.usual_lines);
    for (std::size_t i = 0; i < shown; ++i) WriteWrapped("  ", list.lines[i], 4, options_.width, out_);
    if (shown < list.lines.size()) Line(fmt::format("and {} more{}", list.lines.size() - shown, kAllShows));
  }

  void Part(const say::Table& table) {
    if (table.rows.empty()) return;
    if (!Shown(table.level)) {
      if (table.level == say::Level::kFolded) Line(table.title + kAllShows);
      return;
    }
    if (table.level == say::Level::kFolded) Line(table.title + ":");
    const TimeScale scale = ScaleOf(table);
    ScreenTable screen;
    for (const say::Table::Column& column : table.columns)
      screen.columns.push_back({OneLine(column.title), column.right, column.goes});
    const std::size_t shown =
        options_.all ? table.rows.size() : std::min(table.rows.size(), table.usual_rows);
    for (std::size_t i = 0; i < shown; ++i) {
      auto& row = screen.rows.emplace_back();
      for (const say::Cell& cell : table.rows[i]) {
        const auto* time = std::get_if<say::Time>(&cell.value);
        row.push_back(
            {OneLine(time != nullptr ? scale.Text(time->ns) : say::TextOf(cell)), ColorOfTone(cell.tone)});
      }
    }
    LeaveOutWhatIsEmpty(screen);
    CutLastColumn(screen);
    out_ << '\n';
    screen.Draw(options_, out_);
    if (shown < table.rows.size()) {
      out_ << '\n';
      Line(fmt::format("and {} more{}{}", table.rows.size() - shown,
                       table.elsewhere.empty() ? "" : " " + table.elsewhere, kAllShows));
    }
  }

  static void LeaveOutWhatIsEmpty(ScreenTable& table) {
    for (std::size_t i = table.columns.size(); i-- > 0;) {
      if (!std::ranges::all_of(table.rows, [&](const auto& row) { return row[i].text.empty(); })) continue;
      table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(i));
      for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  // Words in the last column give way where those that stay leave too little room for them.
  void CutLastColumn(ScreenTable& table) const {
    if (table.columns.size() < 2 || table.columns.back().right) return;
    int others = 2;
    for (std::size_t i = 0; i + 1 < table.columns.size(); ++i) {
      if (table.columns[i].goes > 0) continue;
      int widest = DisplayWidth(table.columns[i].title);
      for (const auto& row : table.rows) widest = std::max(widest, DisplayWidth(row[i].text));
      others += widest + 2;
    }
    const int room = std::max(kLeastOfLastColumn, options_.width - others);
    for (auto& row : table.rows) row.back().text = Fitted(row.back().text, room);
  }

  void Part(const say::Chart& chart) {
    for (const say::Chart::Series& series : chart.series) {
      std::optional<double> low, high;
      for (const std::optional<double>& value : series.values) {
        if (!value) continue;
        low = std::min(low.value_or(*value), *value);
        high = std::max(high.value_or(*value), *value);
      }
      if (!low) continue;
      const std::string least = say::TextOf(series.cell(*low)), most = say::TextOf(series.cell(*high));
      out_ << fmt::format("    {:<12}", series.name) << Sparkline(series.values, *low, *high) << "  " << least
           << (least == most ? "" : " to " + most) << '\n';
    }
  }

  // Eight levels from the least to the largest value; what does not exist is a blank. Where there is room for
  // fewer columns than values, a column is the mean of several.
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
      const double place = high > low ? (sum / count - low) / (high - low) : 0;
      line += kLevels[std::clamp(static_cast<int>(place * 8), 0, 7)];
    }
    return line;
  }

  const TerminalOptions& options_;
  std::ostream& out_;
};

void DrawDocument(const say::Document& document, const TerminalOptions& options, std::ostream& out) {
  const auto painted = [&](const std::string& text, Color color) {
    std::ostringstream wrapped;
    WriteWrapped("", text, 0, options.width, wrapped);
    out << Paint(wrapped.str(), color, options.colors);
  };
  painted(say::HeadingOf(document), Color::kBold);
  out << '\n';
  for (const say::Section& section : document.sections) DrawSection(section, options, out);
  for (const std::string& note : document.notes) WriteWrapped("  note", note, 8, options.width, out);
  if (!options.more.empty()) WriteWrapped("  more", options.more, 8, options.width, out);
  if (options.all && !document.method.empty()) WriteWrapped("  ", document.method, 2, options.width, out);
  if (document.answer.empty()) return;
  if (!document.notes.empty() || !options.more.empty()) out << '\n';
  painted(document.answer, ColorOfTone(document.answered));
}

}  // namespace

void DrawSection(const say::Section& section, const TerminalOptions& options, std::ostream& out) {
  SectionScreen(options, out).Draw(section);
}

void RenderDocumentTerminal(const say::Document& document, const TerminalOptions& options,
                            std::ostream& out) {
  TerminalOptions wide_enough = options;
  wide_enough.width = std::max(kLeastWidth, options.width);
  DrawOn(wide_enough, out,
         [&](const TerminalOptions& on, std::ostream& text) { DrawDocument(document, on, text); });
}

}  // namespace etprof
