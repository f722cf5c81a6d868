#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "render/ladder_files.h"
#include "render/ladder_words.h"
#include "render/page/markdown_text.h"
#include "render/screen/terminal_text.h"
#include "say/wording.h"

namespace etprof {
namespace {

using namespace markdown;
using namespace ladder;

constexpr int kBar = 20;

class LadderMarkdown {
 public:
  LadderMarkdown(const Report& report, markdown::Out& out)
      : report_(report), ladder_(*report.ladder), out_(out) {}

  void Write() {
    out_ << "**" << Headline(report_) << "**\n\n";
    if (const std::string best = BestText(report_); !best.empty()) out_ << "- Best: " << best << '\n';
    if (const std::string same = UnchangedText(report_); !same.empty()) out_ << "- " << same << '\n';
    for (const LadderSwing& swing : ladder_.swings) out_ << "- " << SwingText(report_, swing) << '\n';
    for (const std::string& note : Notes(report_)) out_ << "- " << note << '\n';
    out_ << "\n## ISA ladder\n\n";
    for (std::size_t t = 0; t < ladder_.threads.size(); ++t) Levels(t);
    out_ << "Over the level below and over the lowest: baseline time / time, above 1 is faster; paired by "
            "launch. \"same\" is shown to be within the margin, — cannot be told.\n\n";
    if (ladder_.threads.size() > 1) Scaling();
    for (std::size_t t = 0; t < ladder_.threads.size(); ++t) Rows("mean self time", ladder_.groups, t);
    out_ << "Time at the level, in parentheses the gain over the level below where it can be told.\n\n";
    if (!ladder_.categories.empty() || !ladder_.operators.empty()) {
      out_ << "<details><summary>Categories and operators</summary>\n\n";
      for (std::size_t t = 0; t < ladder_.threads.size(); ++t) {
        Rows("category", ladder_.categories, t);
        Rows("operator", ladder_.operators, t);
      }
      out_ << "</details>\n\n";
    }
  }

 private:
  std::string Heading(std::size_t t) const {
    return ladder_.threads.size() > 1 ? ", " + ThreadsText(ladder_.threads[t]) : "";
  }

  void Levels(std::size_t t) {
    const std::size_t lowest = ladder_.Lowest();
    double largest = 0;
    for (const LadderCell& cell : ladder_.latency.cells[t]) largest = std::max(largest, cell.ns.value_or(0));
    const Times time(largest);
    Table table = MakeTable({{"level" + Heading(t), Align::kLeft},
                             {"adds", Align::kLeft},
                             {"median", Align::kRight},
                             {"over the level below", Align::kRight},
                             {"interval", Align::kLeft},
                             {"over " + ladder_.levels[lowest].name, Align::kRight},
                             {"interval", Align::kLeft},
                             {"", Align::kLeft}});
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l) {
      const LadderLevel& level = ladder_.levels[l];
      const LadderCell& cell = ladder_.latency.cells[t][l];
      if (!ladder_.Measured({l, t})) {
        table.AddRow(
            {level.name, fmt::format("{}", fmt::join(level.adds, " ")), "does not run", "", "", "", "", ""});
        continue;
      }
      table.AddRow({level.name, fmt::format("{}", fmt::join(level.adds, " ")), time(cell.ns),
                    GainOver(cell.over_below), cell.over_below ? IntervalText(*cell.over_below) : "",
                    GainOver(cell.over_lowest), cell.over_lowest ? IntervalText(*cell.over_lowest) : "",
                    cell.ns && largest > 0 && !report_.emulated ? Bar(*cell.ns / largest, kBar) : ""});
    }
    out_ << table << '\n';
  }

  // At any number of threads, so that a row is in one unit at each.
  static double LargestOf(const LadderRow& row) {
    double largest = 0;
    for (const std::vector<LadderCell>& cells : row.cells) {
      for (const LadderCell& cell : cells) largest = std::max(largest, cell.ns.value_or(0));
    }
    return largest;
  }

  void Scaling() {
    Table table = MakeTable({{"scaling of the whole", Align::kLeft}});
    for (std::size_t t = 0; t < ladder_.threads.size(); ++t)
      table.columns.push_back({ThreadsText(ladder_.threads[t]), Align::kRight});
    const Times time(LargestOf(ladder_.latency));
    const auto add = [&](const std::string& name, const LadderRow& row, std::size_t l) {
      std::vector<std::string> cells = {name};
      for (std::size_t t = 0; t < ladder_.threads.size(); ++t) {
        const LadderCell& cell = row.cells[t][l];
        std::string text = time(cell.ns);
        if (cell.over_fewest) text += " (" + ScalingText(ladder_, row, {l, t}) + ")";
        cells.push_back(std::move(text));
      }
      table.AddRow(std::move(cells));
    };
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l) add(ladder_.levels[l].name, ladder_.latency, l);
    for (const LadderRow& row : ladder_.groups)
      add(row.name + " at " + ladder_.levels[ladder_.Highest()].name, row, ladder_.Highest());
    out_
        << table
        << "\nIn parentheses the speed-up over the fewest threads, and the efficiency: the speed-up over the "
           "ratio of the threads.\n\n";
  }

  void Rows(const char* title, const std::vector<LadderRow>& rows, std::size_t t) {
    if (rows.empty()) return;
    Table table = MakeTable({{title + Heading(t), Align::kLeft}});
    for (const LadderLevel& level : ladder_.levels) table.columns.push_back({level.name, Align::kRight});
    table.columns.push_back({"what pays", Align::kLeft});
    double largest = 0;
    for (const LadderRow& row : rows) largest = std::max(largest, LargestOf(row));
    const Times time(largest);
    for (const LadderRow& row : rows) {
      std::vector<std::string> cells = {row.name};
      for (const LadderCell& cell : row.cells[t]) {
        std::string text = time(cell.ns);
        const std::string gain = GainOver(cell.over_below);
        if (!gain.empty() && gain != kUndefined) text += " (" + gain + ")";
        cells.push_back(std::move(text));
      }
      cells.push_back(EffectsText(report_, row, t, 1000));
      table.AddRow(std::move(cells));
    }
    out_ << table << '\n';
  }

  const Report& report_;
  const Ladder& ladder_;
  markdown::Out& out_;
};

}  // namespace

void RenderLadderMarkdown(const Report& report, markdown::Out& out) { LadderMarkdown(report, out).Write(); }

}  // namespace etprof
