#include "render/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/table.h"
#include "render/sustained.h"
#include "render/terminal_ladder.h"
#include "render/terminal_matrix.h"
#include "render/terminal_text.h"
#include "render/wording.h"

namespace etprof {
namespace {

constexpr std::size_t kInsights = 3;
constexpr std::size_t kLadderInsights = 1;  // a ladder's own answer takes the room
constexpr std::size_t kNotes = 3;
constexpr std::size_t kTopOperators = 5;

struct Cell {
  std::string text;
  Color color = Color::kNone;
};

class Screen {
 public:
  Screen(const Report& report, const TerminalOptions& options, std::ostream& out)
      : report_(report), options_(options), width_(std::max(60, options.width)), out_(out) {}

  void Draw() {
    Header();
    if (report_.ladder) {
      DrawLadder(report_, options_, width_, out_);
      Footer();
      return;
    }
    const ReportComparison* shown = PairToShow();
    Latencies();
    Sustained();
    if (shown != nullptr) Costs(*shown);
    for (const Matrix& matrix : report_.matrices) DrawMatrix(report_, matrix, width_, out_);
    if (shown != nullptr) {
      TimeTable(report_.experiments[shown->baseline], &report_.experiments[shown->candidate], shown);
    } else {
      for (const ReportExperiment& experiment : report_.experiments) {
        if (report_.experiments.size() > 1)
          out_ << "  " << Paint(Printable(experiment.label), Color::kBold) << "\n\n";
        TimeTable(experiment, nullptr, nullptr);
        TopOperators(experiment);
        if (report_.experiments.size() > 2) break;
      }
    }
    Footer();
  }

 private:
  std::string Paint(const std::string& text, Color color) const {
    return etprof::Paint(text, color, options_.colors);
  }

  // A line of text wrapped to the width behind a six-column label.
  void Labelled(const char* label, const std::string& text) {
    WriteWrapped("  " + std::string(label), Printable(text), 9, width_, out_);
  }

  void Header() {
    std::string right;
    if (!report_.comparisons.empty()) right = SampleText(report_.comparisons.front().comparison);
    if (report_.run.schedule.seconds > 0) {
      right += (right.empty() ? "" : ", ") + fmt::format("{:.0f} s", report_.run.schedule.seconds);
    }
    if (report_.run.status == RunData::Status::kInterrupted)
      right += right.empty() ? "interrupted" : ", interrupted";
    const std::string left = Printable(HeaderText(report_));
    out_ << Paint(left, Color::kBold);
    const int space = width_ - DisplayWidth(left) - DisplayWidth(right);
    if (!right.empty()) out_ << (space >= 2 ? Blanks(space) + right : "\n" + right);
    out_ << "\n\n";
  }

  // The pair whose table is drawn: the only one, or the one that changes most.
  const ReportComparison* PairToShow() const {
    const ReportComparison* best = nullptr;
    double most = -1;
    for (const ReportComparison& pair : report_.comparisons) {
      const auto& estimate = pair.comparison.latency.estimate;
      const double change = estimate ? std::fabs(estimate->log_ratio) : 0;
      if (change > most) {
        most = change;
        best = &pair;
      }
    }
    return best;
  }

  // The column's unit is that of the table below, so that its last row is the number seen here.
  TimeScale Scale() const {
    double smallest = 1e300;
    double largest = 0;
    for (const ReportExperiment& experiment : report_.experiments) {
      if (!experiment.latency.p50) continue;
      smallest = std::min(smallest, *experiment.latency.p50);
      largest = std::max(largest, *experiment.latency.p50);
    }
    return ScaleFor(smallest, largest);
  }

  void Latencies() {
    const TimeScale scale = Scale();
    std::vector<std::string> labels;
    std::vector<std::string> medians;
    std::vector<std::string> tails;
    int label_width = 0;
    int median_width = 0;
    int tail_width = 0;
    for (const ReportExperiment& experiment : report_.experiments) {
      labels.push_back(report_.experiments.size() == 1 ? "latency" : Fitted(Printable(experiment.label), 28));
      medians.push_back(scale.Text(experiment.latency.p50));
      const Tail tail = TailOf(experiment.latency);
      tails.push_back(tail.value ? fmt::format("{} {}", tail.name, scale.Number(*tail.value)) : "");
      label_width = std::max(label_width, DisplayWidth(labels.back()));
      median_width = std::max(median_width, DisplayWidth(medians.back()));
      tail_width = std::max(tail_width, DisplayWidth(tails.back()));
    }
    for (std::size_t i = 0; i < report_.experiments.size(); ++i) {
      const ReportExperiment& experiment = report_.experiments[i];
      std::string line = "  " + labels[i] + Blanks(label_width - DisplayWidth(labels[i])) + "  " +
                         Blanks(median_width - DisplayWidth(medians[i])) + medians[i];
      line += "  " + tails[i] + Blanks(tail_width - DisplayWidth(tails[i]));
      const ReportComparison* pair = PairOfCandidate(i);
      if (pair != nullptr) {
        const Quantity& latency = pair->comparison.latency;
        const VerdictWords words = WordsOf(latency);
        std::string verdict = words.verdict;
        if (report_.comparisons.size() > 1) verdict += " than " + pair->comparison.baseline_label;
        line += "   " + Paint(Printable(verdict), ColorOf(latency.verdict));
        if (!words.interval.empty()) line += "  " + words.interval;
      } else if (report_.comparisons.empty() && experiment.interval) {
        line += fmt::format("   [{}, {}] over {} launches", scale.Number(experiment.interval->low),
                            scale.Number(experiment.interval->high), experiment.interval->launches);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out_ << line << '\n';
    }
    for (const std::string& line : SampleLines()) out_ << "  " << Paint(line, Color::kDim) << '\n';
    out_ << '\n';
  }

  void Sustained() {
    bool any = false;
    for (const ReportExperiment& experiment : report_.experiments) {
      if (!experiment.sustained) continue;
      DrawSustained(experiment, width_, out_);
      any = true;
    }
    if (any) out_ << '\n';
  }

  // Load time and memory of the pair, where both sides are known.
  void Costs(const ReportComparison& pair) {
    const std::vector<std::string> parts = CostTexts(pair.costs);
    if (parts.empty()) return;
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
    if (report_.comparisons.size() > 1) text = pair.comparison.candidate_label + ": " + text;
    Labelled("costs", text);
    out_ << '\n';
  }

  const ReportComparison* PairOfCandidate(std::size_t experiment) const {
    for (const ReportComparison& pair : report_.comparisons) {
      if (pair.candidate == experiment) return &pair;
    }
    return nullptr;
  }

  // What the medians are of.
  std::vector<std::string> SampleLines() const {
    std::vector<std::string> lines;
    for (const ReportExperiment& experiment : report_.experiments) {
      std::string line;
      if (experiment.latency.n == 0) {
        line = "no times";
      } else if (experiment.latency_from_trace) {
        line = fmt::format("median of {} traced steady run{}", experiment.latency.n,
                           experiment.latency.n == 1 ? "" : "s");
        if (experiment.steady_runs == 0)
          line = fmt::format("median of all {} traced runs, none of them steady", experiment.latency.n);
        const std::int64_t left_out = experiment.first_runs + experiment.warmup_runs;
        if (experiment.steady_runs > 0 && left_out > 0) {
          line += fmt::format(
              "; {} first{} left out", experiment.first_runs,
              experiment.warmup_runs > 0 ? fmt::format(" and {} warm-up", experiment.warmup_runs) : "");
        }
      } else {
        line = fmt::format("median of {} untraced run{}{}", experiment.latency.n,
                           experiment.latency.n == 1 ? "" : "s",
                           experiment.tracer_always_on ? ", the tracer's cost included" : "");
        if (experiment.period > 0) line += "; " + PaceText(experiment);
        if (experiment.common_runs > 0)
          line += fmt::format("; table from {} traced runs", experiment.common_runs);
      }
      lines.push_back(line);
    }
    // The same for all is said once.
    if (std::all_of(lines.begin(), lines.end(),
                    [&](const std::string& line) { return line == lines.front(); })) {
      lines.resize(std::min<std::size_t>(1, lines.size()));
    } else {
      for (std::size_t i = 0; i < lines.size(); ++i)
        lines[i] = Fitted(Printable(report_.experiments[i].label), 28) + ": " + lines[i];
    }
    return lines;
  }

  // The mean self times of one experiment, or of both sides of a pair. The rows, as printed, add up to the
  // median.
  void TimeTable(const ReportExperiment& before, const ReportExperiment* after,
                 const ReportComparison* pair) {
    if (!before.profile || before.common_runs == 0) return;
    if (after != nullptr && (!after->profile || after->common_runs == 0)) return;
    const ReportExperiment& subject = after != nullptr ? *after : before;
    const TimeScale scale = Scale();
    struct Line {
      std::string name;
      double before = 0, after = 0;
      Cell gain;
      bool is_share = true;
    };
    std::vector<Line> lines;
    const auto mean = [](const ReportExperiment& experiment, std::size_t row) {
      return static_cast<double>(experiment.groups.rows[row].total) /
             static_cast<double>(experiment.groups.runs);
    };
    for (std::size_t row = 0; row < before.groups.rows.size(); ++row) {
      Line line{before.groups.rows[row].name,
                mean(before, row),
                after != nullptr ? mean(*after, row) : 0,
                {},
                true};
      if (line.before == 0 && line.after == 0) continue;
      if (pair != nullptr && row < pair->comparison.groups.size()) {
        const Quantity& quantity = pair->comparison.groups[row].quantity;
        line.gain = {GainText(quantity), ColorOf(quantity.verdict)};
      }
      lines.push_back(std::move(line));
    }
    if (before.tracer && (after == nullptr || after->tracer)) {
      lines.push_back(
          {TracerRowName(subject), *before.tracer, after != nullptr ? *after->tracer : 0, {}, false});
    }
    std::vector<double> values_before;
    std::vector<double> values_after;
    for (const Line& line : lines) {
      values_before.push_back(line.before);
      values_after.push_back(line.after);
    }
    const std::vector<std::string> text_before = AddingUp(values_before, scale);
    const std::vector<std::string> text_after = AddingUp(values_after, scale);

    const std::string title_before =
        after != nullptr ? Fitted(Printable(pair->comparison.baseline_label), 14) : "";
    const std::string title_after =
        after != nullptr ? Fitted(Printable(pair->comparison.candidate_label), 14) : "";
    const int name_width = 18;
    const int time_width = std::max({10, DisplayWidth(title_before), DisplayWidth(title_after)});
    const double whole = *subject.MeanExecute();
    const auto right = [](const std::string& text, int width) {
      return Blanks(width - DisplayWidth(text)) + text;
    };
    const auto print = [&](const std::string& name, const std::string& first, const std::string& second,
                           const Cell& gain, const std::string& share, double bar, Color color) {
      std::string line = "  " + Paint(name + Blanks(name_width - DisplayWidth(name)), color) + "  " +
                         right(first, time_width);
      if (after != nullptr) {
        line += "  " + right(second, time_width) + "  " + Blanks(7 - DisplayWidth(gain.text)) +
                Paint(gain.text, gain.color);
      }
      line += "  " + right(share, 9);
      const int used = 2 + name_width + 2 + time_width + (after != nullptr ? 2 + time_width + 9 : 0) + 2 + 9;
      const std::string drawn = Bar(bar, std::min(20, width_ - used - 3));
      if (!drawn.empty()) line += "  " + drawn;
      line.erase(line.find_last_not_of(' ') + 1);
      out_ << line << '\n';
    };
    const auto unit = [&](const std::string& number) { return number + ' ' + scale.unit; };
    print("mean self time", title_before, title_after, {after != nullptr ? "gain" : "", Color::kNone},
          after != nullptr ? "share now" : "share", 0, Color::kDim);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const double value = after != nullptr ? lines[i].after : lines[i].before;
      const double share = lines[i].is_share && whole > 0 ? value / whole : 0;
      print(lines[i].name, unit(text_before[i]), unit(text_after[i]), lines[i].gain,
            lines[i].is_share ? PercentText(share) : "", share, Color::kNone);
    }
    Cell gain;
    if (pair != nullptr)
      gain = {GainText(pair->comparison.latency), ColorOf(pair->comparison.latency.verdict)};
    print("Median latency", scale.Text(before.latency.p50),
          after != nullptr ? scale.Text(after->latency.p50) : "", gain, "", 0, Color::kBold);
    out_ << '\n';
  }

  void TopOperators(const ReportExperiment& experiment) {
    if (experiment.operators.empty() || experiment.common_runs == 0) return;
    const TimeScale scale = Scale();
    const std::size_t count = std::min(kTopOperators, experiment.operators.size());
    const std::string title = fmt::format("costliest of {} operators", experiment.operators.size());
    int name_width = DisplayWidth(title);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
      names.push_back(
          Fitted(Printable(experiment.profile->operators[experiment.operators[i].op].name), width_ - 34));
      name_width = std::max(name_width, DisplayWidth(names.back()));
    }
    const auto print = [&](const std::string& name, const std::string& time, const std::string& share,
                           const std::string& cv) {
      return "  " + name + Blanks(name_width - DisplayWidth(name)) + "  " + Blanks(10 - DisplayWidth(time)) +
             time + "  " + Blanks(6 - DisplayWidth(share)) + share + "  " + Blanks(6 - DisplayWidth(cv)) + cv;
    };
    out_ << Paint(print(title, "mean", "share", "CV"), Color::kDim) << '\n';
    for (std::size_t i = 0; i < count; ++i) {
      const OperatorRow& row = experiment.operators[i];
      out_ << print(names[i], scale.Text(row.mean_self), PercentText(row.share),
                    row.self.cv ? PercentText(*row.self.cv) : kUndefined)
           << '\n';
    }
    out_ << '\n';
  }

  void Footer() {
    std::size_t said = 0;
    for (const Insight& insight : report_.insights) {
      if (said == (report_.ladder ? kLadderInsights : kInsights)) break;
      if (insight.kind == Insight::Kind::kAmdahl) continue;  // each line says its own bound
      Labelled(said == 0 ? "next" : "", insight.text);
      ++said;
    }
    const std::string noise = Noise();
    if (!noise.empty()) Labelled("noise", noise);
    Notes();
    Health();
    if (!options_.more.empty()) Labelled("more", options_.more);
  }

  std::string Noise() const {
    std::string text;
    if (report_.noise_floor) {
      text = fmt::format("this machine can show changes above {} (A/A).", RelativeText(*report_.noise_floor));
    } else if (!report_.comparisons.empty() && !report_.emulated) {
      const auto& half_width = report_.comparisons.front().half_width;
      if (half_width)
        text = fmt::format("known to ±{}: smaller changes do not show in this measurement.",
                           RelativeText(*half_width));
    } else if (report_.comparisons.empty() && report_.experiments.size() == 1 &&
               report_.experiments.front().latency.cv) {
      const ReportExperiment& only = report_.experiments.front();
      text = fmt::format("runs vary by {} (standard deviation); {} of {} are outliers (Tukey).",
                         RelativeText(*only.latency.cv), only.latency.outliers, only.latency.n);
    }
    std::int64_t bursts = 0;
    std::int64_t disturbed = 0;
    for (const ReportExperiment& experiment : report_.experiments) {
      bursts += static_cast<std::int64_t>(experiment.bursts.size());
      disturbed += experiment.disturbed_bursts;
    }
    if (disturbed > 0) {
      text += fmt::format("{}{} of {} bursts were disturbed, kept, marked.", text.empty() ? "" : " ",
                          disturbed, bursts);
    }
    return text;
  }

  void Notes() {
    std::size_t said = 0;
    for (const std::string& warning : report_.warnings) {
      if (said == kNotes) {
        Labelled("", fmt::format("and {} more in the report", report_.warnings.size() - said));
        break;
      }
      Labelled(said == 0 ? "note" : "", warning);
      ++said;
    }
  }

  void Health() {
    std::set<std::string> said;
    for (const ReportExperiment& experiment : report_.experiments) {
      if (!experiment.profile) continue;
      for (const HealthEntry& entry : experiment.profile->health.entries()) {
        if (entry.severity == HealthEntry::Severity::kInfo ||
            !said.insert(experiment.label + entry.name).second)
          continue;
        std::string text =
            fmt::format("{}: {} x {}: {}", experiment.label, entry.count, entry.name, entry.explanation);
        if (!entry.first_place.empty()) text += " (first: " + entry.first_place + ")";
        Labelled(said.size() == 1 ? "trace" : "", text);
      }
    }
  }

  const Report& report_;
  const TerminalOptions& options_;
  int width_;
  std::ostream& out_;
};

}  // namespace

void RenderTerminal(const Report& report, const TerminalOptions& options, std::ostream& out) {
  Screen(report, options, out).Draw();
}

}  // namespace etprof
