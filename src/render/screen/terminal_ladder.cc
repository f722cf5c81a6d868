#include "render/screen/terminal_ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/escape.h"
#include "core/table.h"
#include "render/ladder_words.h"
#include "render/screen/terminal_text.h"
#include "say/wording.h"

namespace etprof {
namespace {

using namespace ladder;

constexpr std::size_t kLadderOperators = 5;
constexpr std::size_t kManyLevels = 8;     // with more, one screen has no room for operators
constexpr double kWorthALevelsRow = 0.01;  // of the latency at the lowest level
constexpr std::size_t kNamed = 4;          // levels that change nothing are told by name up to so many
constexpr std::size_t kSwings = 2;
constexpr int kLabel = 9;     // columns of "  best   "
constexpr int kEffects = 14;  // columns of what pays, at least

std::string Right(const std::string& text, int width) { return Blanks(width - DisplayWidth(text)) + text; }
std::string Left(const std::string& text, int width) { return text + Blanks(width - DisplayWidth(text)); }

class LadderScreen {
 public:
  LadderScreen(const Report& report, const TerminalOptions& options, int width, std::ostream& out)
      : report_(report), ladder_(*report.ladder), options_(options), width_(width), out_(out) {
    double smallest = 1e300;
    double largest = 0;
    for (const auto& levels : ladder_.latency.cells) {
      for (const LadderCell& cell : levels) {
        if (!cell.ns) continue;
        smallest = std::min(smallest, *cell.ns);
        largest = std::max(largest, *cell.ns);
      }
    }
    scale_ = ScaleFor(smallest, largest);
    largest_ = largest;
    for (const LadderLevel& level : ladder_.levels)
      level_width_ = std::max(level_width_, DisplayWidth(Fitted(OneLine(level.name), 14)));
  }

  void Draw() {
    Answer();
    if (ladder_.threads.size() == 1) {
      Levels();
    } else {
      Settings();
    }
    const bool times = ladder_.threads.size() == 1;
    Rows("mean self time", options_.all ? ladder_.groups : WorthRows(), ladder_.groups.size(), times);
    if (options_.all) Rows("categories", ladder_.categories, ladder_.categories.size(), times);
    if (options_.all || ladder_.levels.size() <= kManyLevels)
      Rows("operators", ladder_.operators, options_.all ? ladder_.operators.size() : kLadderOperators, times);
    if (!report_.emulated) Legend();
    std::size_t said = 0;
    for (const LadderSwing& swing : ladder_.swings) {
      if (said == kSwings && !options_.all) {
        Labelled("", fmt::format("and {} more with --all", ladder_.swings.size() - said));
        break;
      }
      Labelled(said == 0 ? "mind" : "", SwingText(report_, swing));
      ++said;
    }
    for (const std::string& note : Notes(report_)) Labelled("note", note);
  }

 private:
  std::string Painted(const std::string& text, Color color) const {
    return Paint(text, color, options_.colors);
  }
  std::string LevelName(std::size_t level) const {
    return Left(Fitted(OneLine(ladder_.levels[level].name), 14), level_width_);
  }
  void Line(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << '\n';
  }
  void Labelled(const char* label, const std::string& text) {
    WriteWrapped("  " + std::string(label), text, kLabel, width_, out_);
  }

  void Answer() {
    // Painted word by word it would not wrap: the headline is bold as a whole.
    std::ostringstream headline;
    WriteWrapped("  ", Headline(report_), 2, width_, headline);
    out_ << Painted(headline.str(), Color::kBold) << '\n';
  }

  // The groups that take a share of the time that can matter, at any setting.
  std::vector<LadderRow> WorthRows() const {
    std::vector<LadderRow> rows = ladder_.groups;
    std::erase_if(rows, [&](const LadderRow& row) {
      for (std::size_t t = 0; t < row.cells.size(); ++t) {
        for (std::size_t l = 0; l < row.cells[t].size(); ++l) {
          const auto& whole = ladder_.latency.cells[t][l].ns;
          if (whole && row.cells[t][l].ns.value_or(0) >= kWorthALevelsRow * *whole) return false;
        }
      }
      return true;
    });
    return rows;
  }

  static Color ColorAt(const std::optional<Quantity>& quantity) {
    return quantity ? ColorOf(quantity->verdict) : Color::kNone;
  }

  // One number of threads: a level a line.
  void Levels() {
    const std::size_t lowest = ladder_.Lowest();
    int median = DisplayWidth("median");
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l)
      median = std::max(median, DisplayWidth(scale_.Text(ladder_.latency.cells[0][l].ns)));
    const std::string over = "over " + ladder_.levels[lowest].name;
    const int over_width = std::max(7, DisplayWidth(over));
    const int rest = 2 + level_width_ + 2 + median + 2 + 7 + 2 + over_width + 2;
    // Where there is no room the intervals are left out.
    const int interval = rest + 16 <= width_ ? 16 : 0;
    const int used = rest + (interval > 0 ? 2 + interval : 0);
    Line(Painted("  " + Left("level", level_width_) + "  " + Right("median", median) + "  " +
                     (interval > 0 ? Left("over the level below", 7 + 2 + interval) : Right("gain", 7)) +
                     "  " + Right(over, over_width),
                 Color::kDim));
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l) {
      const LadderCell& cell = ladder_.latency.cells[0][l];
      std::string line = "  " + LevelName(l) + "  ";
      if (!ladder_.Measured({l, 0})) {
        Line(line + Right(kUndefined, median) + "  does not run");
        continue;
      }
      line += Right(scale_.Text(cell.ns), median) + "  ";
      const std::string below = GainOver(cell.over_below);
      const std::string range = cell.over_below && cell.over_below->verdict != stats::Verdict::kEmulated
                                    ? IntervalText(*cell.over_below)
                                    : "";
      line += Blanks(7 - DisplayWidth(below)) + Painted(below, ColorAt(cell.over_below)) + "  " +
              (interval > 0 ? Left(range == kUndefined ? "" : range, interval) + "  " : "");
      const std::string lowest_gain = GainOver(cell.over_lowest);
      line += Blanks(over_width - DisplayWidth(lowest_gain)) +
              Painted(lowest_gain, ColorAt(cell.over_lowest)) + "  ";
      if (cell.ns && largest_ > 0 && !report_.emulated)
        line += Bar(*cell.ns / largest_, std::min(30, width_ - used));
      Line(line);
    }
    out_ << '\n';
  }

  // Several: a level a line, a number of threads a column; of what does not fit the screen tables below.
  void Settings() {
    const int scaling = 12;
    const int free = width_ - 2 - level_width_ - 2 - scaling;
    int number = 4;
    for (const auto& levels : ladder_.latency.cells) {
      for (const LadderCell& cell : levels)
        if (cell.ns) number = std::max(number, DisplayWidth(scale_.Number(*cell.ns)));
    }
    const int least = 2 + number + 1 + 6;
    const std::size_t all = ladder_.threads.size();
    const std::size_t shown = std::min(all, static_cast<std::size_t>(std::max(1, free / least)));
    const int cell_width = std::min(least + 14, free / static_cast<int>(shown));
    for (std::size_t from = 0; from < all && (from == 0 || options_.all); from += shown)
      Settings(from, std::min(all, from + shown), number, cell_width, scaling);
    if (shown < all && !options_.all)
      Line(fmt::format("  {} more with --all: the screen is not wide enough\n", all - shown));
  }

  void Settings(std::size_t from, std::size_t to, int number, int cell_width, int scaling) {
    const int least = 2 + number + 1 + 6;
    const int bar = cell_width - least - 1;
    std::string title = "  " + Left("level", level_width_);
    for (std::size_t t = from; t < to; ++t) {
      std::string head = ThreadsText(ladder_.threads[t]);
      if (t == from) head += std::string(", ") + scale_.unit;
      title += "  " + Left(head, cell_width - 2);
    }
    Line(Painted(title + "  " + Right("scaling", scaling - 2), Color::kDim));
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l) {
      std::string line = "  " + LevelName(l);
      for (std::size_t t = from; t < to; ++t) {
        const LadderCell& cell = ladder_.latency.cells[t][l];
        const std::string gain = ladder_.Measured({l, t}) ? GainOver(cell.over_below) : "";
        std::string text = "  " + Right(cell.ns ? scale_.Number(*cell.ns) : kUndefined, number) + " " +
                           Blanks(6 - DisplayWidth(gain)) + Painted(gain, ColorAt(cell.over_below));
        int text_width = least;
        if (bar >= 4 && cell.ns && !report_.emulated) {
          const std::string drawn = Bar(*cell.ns / largest_, bar);
          text += " " + drawn;
          text_width += 1 + DisplayWidth(drawn);
        }
        line += text + Blanks(cell_width - text_width);
      }
      std::string scaled;
      for (std::size_t t = ladder_.threads.size(); t-- > 1 && scaled.empty();) {
        if (ladder_.Measured({l, t})) scaled = ScalingText(ladder_, ladder_.latency, {l, t});
      }
      Line(line + "  " + Right(scaled, scaling - 2));
    }
    out_ << '\n';
  }

  // Of one number of threads lowest and highest level, the gain, the profile and what pays; of several what
  // pays at each.
  void Rows(const char* title, const std::vector<LadderRow>& rows, std::size_t most, bool times) {
    if (rows.empty()) return;
    const std::size_t count = std::min(most, rows.size());
    int name_width = 24;
    const std::size_t lowest = ladder_.Lowest();
    const std::size_t highest = ladder_.Highest();
    const auto profile = static_cast<int>(ladder_.levels.size());
    const std::string unit = times ? std::string(", ") + scale_.unit : "";
    const std::string head = fmt::format(
        "{}{}{}", title, unit, count < rows.size() ? fmt::format(", {} of {}", count, rows.size()) : "");
    if (!times) {
      const std::size_t all = ladder_.threads.size();
      const int room = width_ - 2 - name_width;
      const std::size_t shown = std::min(all, static_cast<std::size_t>(std::max(1, room / kEffects)));
      for (std::size_t from = 0; from < all && (from == 0 || options_.all); from += shown)
        Effects(head, rows, count, name_width, room / static_cast<int>(shown), from,
                std::min(all, from + shown));
      return;
    }
    // On a narrow screen, or with many levels, names and then the profile give way.
    const int number = 7;
    bool profiled = !report_.emulated;
    const auto rest_of = [&] {
      return width_ - (2 + name_width + 2 + number + 2 + number + 2 + 6 + 2 + (profiled ? profile + 2 : 0));
    };
    if (rest_of() < 14) name_width = 16;
    if (rest_of() < 12) profiled = false;
    const int rest = rest_of();
    const std::string over = profile >= 6 ? "levels" : "";
    // A level whose name is too long for its column is called by its place.
    const auto level_title = [&](std::size_t level, const char* place) {
      const std::string name = OneLine(ladder_.levels[level].name);
      return Right(DisplayWidth(name) <= number ? name : place, number);
    };
    Line(Painted(
        "  " +
            Left(DisplayWidth(head) <= name_width ? head : Fitted(ShortTitle(title) + unit, name_width),
                 name_width) +
            "  " + level_title(lowest, "lowest") + "  " + level_title(highest, "highest") + "  " +
            Right("gain", 6) + "  " + (profiled ? Left(over, profile) + "  " : "") + "what pays",
        Color::kDim));
    const auto time = [&](const LadderCell& cell) {
      return Right(cell.ns ? scale_.Number(*cell.ns) : kUndefined, number);
    };
    for (std::size_t i = 0; i < count; ++i) {
      const LadderRow& row = rows[i];
      const LadderCell& top = row.cells[0][highest];
      const std::string gain = GainOver(top.over_lowest);
      Line("  " + Left(FittedName(OneLine(row.name), name_width), name_width) + "  " +
           time(row.cells[0][lowest]) + "  " + time(top) + "  " + Blanks(6 - DisplayWidth(gain)) +
           Painted(gain, ColorAt(top.over_lowest)) + "  " +
           (profiled ? Left(Spark(row, 0), profile) + "  " : "") +
           Fitted(EffectsText(report_, row, 0, rest), rest));
    }
    out_ << '\n';
  }

  // What pays, of some numbers of threads.
  void Effects(const std::string& head, const std::vector<LadderRow>& rows, std::size_t count, int name_width,
               int columns, std::size_t from, std::size_t to) {
    std::string line = "  " + Left(head, name_width);
    for (std::size_t t = from; t < to; ++t) line += "  " + Left(ThreadsText(ladder_.threads[t]), columns - 2);
    Line(Painted(line, Color::kDim));
    for (std::size_t i = 0; i < count; ++i) {
      line = "  " + Left(FittedName(OneLine(rows[i].name), name_width), name_width);
      for (std::size_t t = from; t < to; ++t)
        line += "  " + Left(Fitted(EffectsText(report_, rows[i], t, columns - 2), columns - 2), columns - 2);
      Line(line);
    }
    out_ << '\n';
  }

  static std::string ShortTitle(const std::string& title) {
    return title.starts_with("mean ") ? title.substr(5) : title;
  }

  void Legend() {
    if (const std::string best = BestText(report_); !best.empty()) Labelled("best", best);
    const std::size_t named = options_.all ? ladder_.levels.size() : kNamed;
    if (const std::string same = UnchangedText(report_, named); !same.empty()) Labelled("levels", same);
  }

  const Report& report_;
  const Ladder& ladder_;
  const TerminalOptions& options_;
  int width_;
  std::ostream& out_;
  TimeScale scale_;
  double largest_ = 0;
  int level_width_ = 5;
};

}  // namespace

void DrawLadder(const Report& report, const TerminalOptions& options, int width, std::ostream& out) {
  LadderScreen(report, options, width, out).Draw();
}

}  // namespace etprof
