#include "render/screen/terminal_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/escape.h"
#include "core/table.h"
#include "render/screen/screen_table.h"
#include "render/screen/terminal_text.h"
#include "say/operator_names.h"

namespace etprof {
namespace {

constexpr int kTimesNameWidth = 18;
constexpr int kMostTitle = 14;
constexpr int kGain = 7, kShare = 9;  // columns
constexpr int kMostBar = 20;

using Cell = ScreenTable::Cell;

// The names of two columns. Of long ones that begin alike, the ends tell them apart.
std::pair<std::string, std::string> Titles(const Comparison& comparison, int width) {
  const int most = std::min(kMostTitle, (width - 2 - kTimesNameWidth - 2 - 2 - 2 - kGain) / 2);
  constexpr std::size_t kAlike = 6;
  const std::string a = OneLine(comparison.baseline_label), b = OneLine(comparison.candidate_label);
  const auto shared =
      static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const auto cut = shared >= kAlike ? FittedTail : Fitted;
  return {cut(a, most), cut(b, most)};
}

double MeanOfRow(const ReportExperiment& experiment, std::size_t row) {
  return MeanOf(experiment.groups.rows[row].total, experiment.groups.runs);
}

bool HasTimes(const ReportExperiment& experiment) { return experiment.profile && experiment.common_runs > 0; }

std::string RightText(const std::string& text, int width) {
  return Blanks(width - DisplayWidth(text)) + text;
}

// A column of times, in rows that add up to the median as printed: the groups named by `rows`, then the
// tracer's where it is known.
std::vector<std::string> TimeColumn(const ReportExperiment& experiment, const std::vector<std::size_t>& rows,
                                    const TimeScale& scale) {
  std::vector<double> means;
  for (const std::size_t row : rows) means.push_back(MeanOfRow(experiment, row));
  means.push_back(experiment.tracer.value_or(0));
  std::vector<std::string> texts = AddingUp(means, scale);
  for (std::string& text : texts) text += std::string(" ") + scale.unit;
  return texts;
}

// One experiment, or two sides with gains.
class TimeTable {
 public:
  TimeTable(const ReportExperiment& before, const ReportExperiment* after, const Comparison* comparison,
            const TimeScale& scale, const TerminalOptions& options, std::ostream& out)
      : before_(before), after_(after), comparison_(comparison), scale_(scale), options_(options), out_(out) {
    if (comparison_ != nullptr) titles_ = Titles(*comparison_, options_.width);
    time_width_ = std::max({10, DisplayWidth(titles_.first), DisplayWidth(titles_.second)});
  }

  void Draw() {
    const bool pair = after_ != nullptr;
    if (!options_.all && (before_.TablesAreDisturbed() || (pair && after_->TablesAreDisturbed()))) return;
    const ReportExperiment& subject = pair ? *after_ : before_;
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < before_.groups.rows.size(); ++row) {
      if (before_.groups.rows[row].total != 0 || (pair && after_->groups.rows[row].total != 0))
        rows.push_back(row);
    }
    const std::vector<std::string> first = TimeColumn(before_, rows, scale_);
    const std::vector<std::string> second =
        pair ? TimeColumn(*after_, rows, scale_) : std::vector<std::string>(first.size());
    const double whole = subject.MeanExecute().value_or(0);
    Line("mean self time", titles_.first, titles_.second, {pair ? "gain" : ""}, pair ? "share now" : "share",
         0, Color::kDim);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Cell gain;
      if (comparison_ != nullptr && rows[i] < comparison_->groups.size() &&
          (options_.all || ShowsItsSpeedup(rows[i], first[i], second[i]))) {
        const Quantity& quantity = comparison_->groups[rows[i]].quantity;
        gain = {GainText(quantity), ColorOf(quantity.verdict)};
      }
      const double share = whole > 0 ? MeanOfRow(subject, rows[i]) / whole : 0;
      Line(before_.groups.rows[rows[i]].name, first[i], second[i], gain, PercentText(share), share,
           Color::kNone);
    }
    if (before_.tracer && (!pair || after_->tracer))
      Line(TracerRowName(subject), first.back(), second.back(), {}, "", 0, Color::kNone);
    Cell gain;
    if (comparison_ != nullptr)
      gain = {GainText(comparison_->latency), ColorOf(comparison_->latency.verdict)};
    Line("Median latency", scale_.Text(before_.latency.p50), pair ? scale_.Text(after_->latency.p50) : "",
         gain, "", 0, Color::kBold);
    out_ << '\n';
  }

 private:
  // On one screen a speedup of next to nothing distracts, and one that the rounded times beside it contradict
  // confuses: "0.009 ms  0.010 ms  1.07x".
  bool ShowsItsSpeedup(std::size_t row, const std::string& first, const std::string& second) const {
    constexpr double kWorthSaying = 0.02;
    const double before = MeanOfRow(before_, row), after = MeanOfRow(*after_, row);
    if (before < kWorthSaying * before_.MeanExecute().value_or(0) &&
        after < kWorthSaying * after_->MeanExecute().value_or(0))
      return false;
    const stats::Verdict verdict = comparison_->groups[row].quantity.verdict;
    if (verdict == stats::Verdict::kFaster) return first != second && before > after;
    if (verdict == stats::Verdict::kSlower) return first != second && before < after;
    return true;
  }

  void Line(const std::string& name, const std::string& first, const std::string& second, const Cell& gain,
            const std::string& share, double bar, Color color) {
    const std::string fitted = Fitted(name, kTimesNameWidth);
    std::string line = "  " + Paint(fitted, color, options_.colors) +
                       Blanks(kTimesNameWidth - DisplayWidth(fitted)) + "  " + RightText(first, time_width_);
    int used = 2 + kTimesNameWidth + 2 + time_width_;
    if (after_ != nullptr) {
      line += "  " + RightText(second, time_width_) + "  " + Blanks(kGain - DisplayWidth(gain.text)) +
              Paint(gain.text, gain.color, options_.colors);
      used += 2 + time_width_ + 2 + kGain;
    }
    used += 2 + kShare;
    if (used <= options_.width) line += "  " + RightText(share, kShare);
    const std::string drawn = Bar(bar, std::min(kMostBar, options_.width - used - 3));
    if (!drawn.empty()) line += "  " + drawn;
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << '\n';
  }

  const ReportExperiment& before_;
  const ReportExperiment* after_;
  const Comparison* comparison_;
  TimeScale scale_;
  const TerminalOptions& options_;
  std::ostream& out_;
  std::pair<std::string, std::string> titles_;
  int time_width_ = 10;
};

// Which of several of a name, where there is room for it.
std::string NameOnScreen(const OperatorNames& names, std::size_t op, int room) {
  const std::string whole = OneLine(names.Of(op));
  return DisplayWidth(whole) <= room ? whole : OneLine(names.Plain(op));
}

}  // namespace

void DrawTimes(const Report& report, const ReportExperiment& experiment, const TerminalOptions& options,
               std::ostream& out) {
  if (HasTimes(experiment))
    TimeTable(experiment, nullptr, nullptr, ScaleOfLatencies(report), options, out).Draw();
}

void DrawTimes(const Report& report, const ReportComparison& pair, const TerminalOptions& options,
               std::ostream& out) {
  const ReportExperiment& before = report.experiments[pair.baseline];
  const ReportExperiment& after = report.experiments[pair.candidate];
  if (HasTimes(before) && HasTimes(after))
    TimeTable(before, &after, &pair.comparison, ScaleOfLatencies(report), options, out).Draw();
}

void DrawTimesSideBySide(const Report& report, const std::vector<std::size_t>& experiments,
                         const TerminalOptions& options, std::ostream& out) {
  const TimeScale scale = ScaleOfLatencies(report);
  std::vector<const ReportExperiment*> sides;
  for (const std::size_t i : experiments) {
    if (HasTimes(report.experiments[i])) sides.push_back(&report.experiments[i]);
  }
  if (sides.empty()) return;
  const auto fitting =
      static_cast<std::size_t>(std::max(1, (options.width - 2 - kTimesNameWidth) / (2 + kMostTitle)));
  const std::size_t left_out = sides.size() - std::min(sides.size(), fitting);
  sides.resize(sides.size() - left_out);
  std::vector<std::size_t> rows;
  const std::vector<AdditiveRow>& groups = sides.front()->groups.rows;
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (std::any_of(sides.begin(), sides.end(),
                    [&](const ReportExperiment* side) { return side->groups.rows[row].total != 0; }))
      rows.push_back(row);
  }
  ScreenTable table{{{"mean self time"}}, {}};
  for (const std::size_t row : rows) table.rows.push_back({{groups[row].name}});
  table.rows.push_back({{TracerRowName(*sides.front())}});
  table.rows.push_back({{"Median latency", Color::kBold}});
  for (const ReportExperiment* const side : sides) {
    table.columns.push_back({Fitted(OneLine(side->label), kMostTitle), true});
    const std::vector<std::string> times = TimeColumn(*side, rows, scale);
    for (std::size_t i = 0; i < times.size(); ++i) table.rows[i].push_back({times[i]});
    table.rows.back().push_back({scale.Text(side->latency.p50)});
  }
  table.Draw(options, out);
  if (left_out > 0) out << fmt::format("  {} more: the screen is not wide enough\n", left_out);
  out << '\n';
}

void DrawOperators(const Report& report, const ReportExperiment& experiment, std::size_t most,
                   const TerminalOptions& options, std::ostream& out) {
  if (experiment.operators.empty() || !HasTimes(experiment)) return;
  const TimeScale scale = ScaleOfLatencies(report);
  const std::size_t count = std::min(most, experiment.operators.size());
  const std::string title =
      fmt::format("{}{} operators", options.all ? "" : "costliest of ", experiment.operators.size());
  ScreenTable table{{{title}, {"mean", true}, {"share", true}, {"CV", true}}, {}};
  constexpr int kOtherColumns = 2 + 2 + 10 + 2 + 6 + 2 + 6;  // with the blanks before them
  const OperatorNames names(*experiment.profile);
  for (std::size_t i = 0; i < count; ++i) {
    const OperatorRow& row = experiment.operators[i];
    table.rows.push_back({{NameOnScreen(names, row.op, options.width - kOtherColumns)},
                          {scale.Text(row.mean_self)},
                          {PercentText(row.share)},
                          {row.self.cv ? PercentText(*row.self.cv) : kUndefined}});
  }
  table.Draw(options, out);
  out << '\n';
}

void DrawOperators(const Report& report, const ReportComparison& pair, const TerminalOptions& options,
                   std::ostream& out) {
  const ReportExperiment& before = report.experiments[pair.baseline];
  const ReportExperiment& after = report.experiments[pair.candidate];
  const Comparison& comparison = pair.comparison;
  if (!HasTimes(before) || !HasTimes(after) || comparison.operators.empty()) return;
  const TimeScale scale = ScaleOfLatencies(report);
  struct Row {
    const OperatorMatch* match;
    double before, after;
  };
  std::vector<Row> rows;
  for (const OperatorMatch& match : comparison.operators) {
    rows.push_back({&match, MeanOf(match.baseline_total, comparison.baseline_runs),
                    MeanOf(match.candidate_total, comparison.candidate_runs)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::max(a.before, a.after) > std::max(b.before, b.after);
  });
  const auto titles = Titles(comparison, options.width);
  ScreenTable table{{{fmt::format("{} operators", rows.size())},
                     {titles.first, true},
                     {titles.second, true},
                     {"gain", true},
                     {"interval", false, 1}},
                    {}};
  const OperatorNames names_before(*before.profile), names_after(*after.profile);
  // The columns of times, the gain and the interval, with the blanks before them.
  const int time_width = std::max({10, DisplayWidth(titles.first), DisplayWidth(titles.second)});
  const int room = options.width - 2 - 2 * (2 + time_width) - (2 + kGain) - (2 + 14);
  for (const Row& row : rows) {
    const OperatorMatch& match = *row.match;
    const std::string name = match.candidate ? NameOnScreen(names_after, *match.candidate, room)
                                             : NameOnScreen(names_before, *match.baseline, room);
    const bool both = match.baseline && match.candidate;
    const Quantity& quantity = match.quantity;
    table.rows.push_back({{name},
                          {match.baseline ? scale.Text(row.before) : ""},
                          {match.candidate ? scale.Text(row.after) : ""},
                          both ? Cell{GainText(quantity), ColorOf(quantity.verdict)} : Cell{},
                          {both ? IntervalText(quantity) : ""}});
  }
  table.Draw(options, out);
  out << '\n';
}

}  // namespace etprof
