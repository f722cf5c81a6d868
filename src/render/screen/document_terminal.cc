#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/escape.h"
#include "core/table.h"
#include "render/document.h"
#include "render/screen/roofline_plot.h"
#include "render/screen/screen_table.h"
#include "render/screen/terminal_text.h"
#include "render/table_text.h"
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
    case say::Tone::kUnknown:
      return Color::kDim;
    case say::Tone::kPlain:
      break;
  }
  return Color::kNone;
}

class SectionScreen {
 public:
  SectionScreen(const TerminalOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void Draw(const say::Section& section) {
    if (!Shown(section.level)) return;
    if (!section.title.empty())
      out_ << "  " << Paint(OneLine(section.title), Color::kBold, options_.colors) << '\n';
    begun_ = !section.title.empty();
    for (const auto& part : section.parts) {
      std::visit([&](const auto& of) { Part(of); }, part);
      begun_ = true;
    }
    out_ << '\n';
  }

 private:
  bool Shown(say::Level level) const { return options_.all || level <= say::Level::kUsual; }
  void Line(const std::string& text) { WriteWrapped("  ", text, 2, options_.width, out_); }

  void Part(const say::Paragraph& paragraph) {
    if (Shown(paragraph.level)) Line(paragraph.text);
  }

  void Part(const say::List& list) {
    if (!Shown(list.level)) return;
    if (!list.title.empty()) Line(list.title + ":");
    const std::size_t shown =
        options_.all ? list.items.size() : std::min(list.items.size(), list.usual_items);
    for (std::size_t i = 0; i < shown; ++i) {
      const std::string mark = list.numbered ? fmt::format("  {}.", i + 1) : "  ";
      WriteWrapped(mark, list.items[i].text, list.numbered ? 5 : 4, options_.width, out_);
      if (!options_.all) continue;
      for (const std::string& detail : list.items[i].details)
        WriteWrapped("      ", detail, 8, options_.width, out_);
    }
    if (shown < list.items.size()) Line(fmt::format("and {} more{}", list.items.size() - shown, kAllShows));
  }

  void Part(const say::Facts& facts) {
    if (!Shown(facts.level)) return;
    if (!facts.title.empty()) Line(facts.title + ":");
    int widest = 0;
    for (const auto& [name, value] : facts.facts) widest = std::max(widest, DisplayWidth(OneLine(name)));
    std::string before;
    for (const auto& [name, value] : facts.facts) {
      WriteWrapped(name == before ? "  " : "  " + OneLine(name), value, widest + 4, options_.width, out_);
      before = name;
    }
  }

  void Part(const say::Table& table) {
    if (table.rows.empty()) return;
    if (!Shown(table.level)) {
      if (table.level == say::Level::kFolded) Line(table.title + kAllShows);
      return;
    }
    if (!table.title.empty() && table.level == say::Level::kFolded) Line(table.title + ":");
    const TableText text = TextOf(table, options_.all ? SIZE_MAX : table.usual_rows,
                                  [&](const say::Row& row) { return Shown(row.level); });
    ScreenTable screen;
    screen.keep = table.columns.front().keep;
    const std::string marked = letters_.empty() ? "" : "   ";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const say::Table::Column& column = table.columns[i];
      screen.columns.push_back({(i == 0 ? marked : "") + OneLine(text.titles[i]), column.right, column.goes});
    }
    for (const TableText::Row& of : text.rows) {
      auto& row = screen.rows.emplace_back();
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const say::Table::Column& column = table.columns[i];
        std::string words = OneLine(of.cells[i].text);
        if (i == 0) words.insert(0, static_cast<std::size_t>(2 * of.depth), ' ');
        if (column.most > 0) words = FittedTo(words, column.most, column.keep);
        if (i == 0 && !marked.empty()) {
          const std::size_t at = screen.rows.size() - 1;
          words.insert(0, (at < letters_.size() && !letters_[at].empty() ? letters_[at] : " ") + "  ");
        }
        row.push_back({std::move(words), ColorOfTone(of.cells[i].tone), of.cells[i].bar});
      }
    }
    letters_.clear();
    LeaveOutWhatIsEmpty(screen);
    CutLastColumn(screen);
    if (begun_) out_ << '\n';
    screen.Draw(options_, out_);
    if (text.left.empty()) return;
    out_ << '\n';
    Line(text.left + (table.elsewhere.empty() ? "" : " " + table.elsewhere) + kAllShows);
  }

  void Part(const say::Roofs& roofs) {
    if (begun_) out_ << '\n';
    letters_ = DrawRoofs(roofs, options_, out_);
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
  bool begun_ = false;                // something of the section stands above
  std::vector<std::string> letters_;  // of the picture above, for the rows of the next table
};

class DocumentScreen {
 public:
  DocumentScreen(const say::Document& document, const TerminalOptions& options, std::ostream& out)
      : document_(document), options_(options), out_(out) {}

  void Draw() {
    Painted(say::HeadingOf(document_), Color::kBold);
    out_ << '\n';
    if (!document_.concludes && !document_.answers.empty()) {
      Answers();
      out_ << '\n';
    }
    for (const say::Section& section : document_.sections) DrawSection(section, options_, out_);
    for (const std::string& note : document_.notes) WriteWrapped("  note", note, 8, options_.width, out_);
    if (!options_.more.empty()) WriteWrapped("  more", options_.more, 8, options_.width, out_);
    if (options_.all && !document_.method.empty())
      WriteWrapped("  ", document_.method, 2, options_.width, out_);
    if (!document_.concludes || document_.answers.empty()) return;
    if (!document_.notes.empty() || !options_.more.empty()) out_ << '\n';
    Answers();
  }

 private:
  // Painted word by word it would not wrap: it is painted as a whole.
  void Painted(const std::string& text, Color color) {
    std::ostringstream wrapped;
    WriteWrapped("", text, 0, options_.width, wrapped);
    out_ << Paint(wrapped.str(), color, options_.colors);
  }

  void Answers() {
    for (const say::Answer& answer : document_.answers) {
      const std::string text = OneLine(answer.text), rest = OneLine(answer.rest);
      if (!rest.empty() && DisplayWidth(text + rest) + 3 <= options_.width) {
        out_ << Paint(text, ColorOfTone(answer.tone), options_.colors) << "   " << rest << '\n';
        continue;
      }
      Painted(text, ColorOfTone(answer.tone));
      if (!rest.empty()) WriteWrapped("  ", rest, 2, options_.width, out_);
    }
  }

  const say::Document& document_;
  const TerminalOptions& options_;
  std::ostream& out_;
};

}  // namespace

void DrawSection(const say::Section& section, const TerminalOptions& options, std::ostream& out) {
  SectionScreen(options, out).Draw(section);
}

void RenderDocumentTerminal(const say::Document& document, const TerminalOptions& options,
                            std::ostream& out) {
  TerminalOptions wide_enough = options;
  wide_enough.width = std::max(kLeastWidth, options.width);
  DrawOn(wide_enough, out,
         [&](const TerminalOptions& on, std::ostream& text) { DocumentScreen(document, on, text).Draw(); });
}

}  // namespace etprof
