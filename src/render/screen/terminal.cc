#include "render/screen/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "core/escape.h"
#include "core/table.h"
#include "render/document.h"
#include "render/screen/latency_plot.h"
#include "render/screen/terminal_ladder.h"
#include "render/screen/terminal_matrix.h"
#include "render/screen/terminal_tables.h"
#include "render/screen/terminal_text.h"
#include "render/speedup_words.h"
#include "report/ladder/matrix.h"
#include "say/breakdown_by.h"
#include "say/counters.h"
#include "say/roofline.h"
#include "say/sustained.h"
#include "say/wording.h"

namespace etprof {
namespace {

constexpr std::size_t kInsights = 3;
constexpr std::size_t kLadderInsights = 1;  // a ladder's own answer takes the room
constexpr std::size_t kMostNotes = 3;
constexpr std::size_t kTopOperators = 5;

class ReportScreen {
 public:
  ReportScreen(const Report& report, const TerminalOptions& options, std::ostream& out)
      : report_(report), options_(options), width_(options.width), out_(out) {}

  void Draw() {
    Header();
    if (report_.ladder) {
      DrawLadder(report_, options_, width_, out_);
      if (options_.all) LatencyPlots();
    } else {
      Latencies();
      if (options_.all) LatencyPlots();
      Sustained();
      for (const ReportComparison* const pair : PairsToShow()) Costs(*pair);
      for (const Matrix& matrix : report_.matrices) {
        if (options_.all || !IsOnePair(matrix)) DrawMatrix(report_, matrix, options_, out_);
      }
      Times();
    }
    if (options_.all) Everything();
    Footer();
  }

 private:
  std::string Paint(const std::string& text, Color color) const {
    return etprof::Paint(text, color, options_.colors);
  }

  // A line of text wrapped to the width behind a six-column label.
  void Labelled(const char* label, const std::string& text) {
    WriteWrapped("  " + std::string(label), text, 9, width_, out_);
  }

  void Header() {
    std::string right;
    if (!report_.comparisons.empty()) right = SampleText(report_.comparisons.front().comparison);
    if (report_.run.schedule.seconds > 0) {
      right += (right.empty() ? "" : ", ") + fmt::format("{:.0f} s", report_.run.schedule.seconds);
    }
    if (report_.run.status == RunData::Status::kInterrupted)
      right += right.empty() ? "interrupted" : ", interrupted";
    const std::string left = OneLine(HeaderText(report_));
    if (left.empty() && right.empty()) return;
    const int space = width_ - DisplayWidth(left) - DisplayWidth(right);
    if (space >= 2) {
      out_ << Paint(left, Color::kBold) << (right.empty() ? "" : Blanks(space) + right) << "\n\n";
      return;
    }
    std::ostringstream wrapped;
    WriteWrapped("", left, 0, width_, wrapped);
    out_ << Paint(wrapped.str(), Color::kBold);
    if (!right.empty()) WriteWrapped("", right, 0, width_, out_);
    out_ << '\n';
  }

  // Whose table is drawn: of several the pair that changes most, unless all are asked for.
  std::vector<const ReportComparison*> PairsToShow() const {
    std::vector<const ReportComparison*> pairs;
    double most = -1;
    for (const ReportComparison& pair : report_.comparisons) {
      const auto& estimate = pair.comparison.latency.estimate;
      const double change = estimate ? std::fabs(estimate->log_ratio) : 0;
      if (!options_.all && change <= most) continue;
      most = change;
      if (!options_.all) pairs.clear();
      pairs.push_back(&pair);
    }
    return pairs;
  }

  // A thread sweep of two: the table of the pair says more than a matrix of one column.
  bool IsOnePair(const Matrix& matrix) const {
    return matrix.candidates.size() == 1 &&
           std::any_of(
               report_.comparisons.begin(), report_.comparisons.end(), [&](const ReportComparison& pair) {
                 return pair.baseline == matrix.baseline && pair.candidate == matrix.candidates.front();
               });
  }

  // What a matrix on the screen tells already.
  bool InMatrix(std::size_t experiment) const {
    return std::any_of(report_.matrices.begin(), report_.matrices.end(), [&](const Matrix& matrix) {
      const auto& candidates = matrix.candidates;
      return !IsOnePair(matrix) &&
             (matrix.baseline == experiment ||
              std::find(candidates.begin(), candidates.end(), experiment) != candidates.end());
    });
  }

  void Times() {
    for (const ReportComparison* const pair : PairsToShow()) {
      if (!options_.all && InMatrix(pair->baseline) && InMatrix(pair->candidate)) continue;
      Heading(pair->comparison.baseline_label + " and " + pair->comparison.candidate_label);
      DrawTimes(report_, *pair, options_, out_);
      if (options_.all) DrawOperators(report_, *pair, options_, out_);
    }
    std::vector<std::size_t> alone;
    for (std::size_t i = 0; i < report_.experiments.size(); ++i) {
      if (!InPair(report_, i) && (options_.all || !InMatrix(i))) alone.push_back(i);
    }
    if (!options_.all && alone.size() > 1) {
      if (report_.comparisons.empty()) DrawTimesSideBySide(report_, alone, options_, out_);
      return;
    }
    if (!options_.all && !report_.comparisons.empty()) return;
    for (const std::size_t i : alone) {
      const ReportExperiment& experiment = report_.experiments[i];
      Heading(experiment.label);
      DrawTimes(report_, experiment, options_, out_);
      DrawOperators(report_, experiment, options_.all ? experiment.operators.size() : kTopOperators, options_,
                    out_);
    }
  }

  // What tells the tables of many experiments apart.
  void Heading(const std::string& text) {
    if (options_.all && (report_.comparisons.size() > 1 || report_.experiments.size() > 2))
      out_ << "  " << Paint(OneLine(text), Color::kBold) << "\n\n";
  }

  // What is not on one screen.
  void Everything() {
    const auto draw = [&](const std::vector<say::Section>& sections) {
      for (const say::Section& section : sections) DrawSection(section, options_, out_);
    };
    if (!report_.ladder) draw(say::SayBreakdownBy(report_, say::By::kCategory));
    for (const say::By by : {say::By::kLayer, say::By::kSource, say::By::kDelegate})
      draw(say::SayBreakdownBy(report_, by));
    draw(say::SayRoofline(report_));
    std::vector<say::Section> counters = say::SayCounters(say::CountersOf(report_.run)).sections;
    for (say::Section& section : counters) section.title.insert(0, "Counters: ");
    draw(counters);
  }

  void LatencyPlots() {
    for (const LatencyPlot& plot : report_.latency_plots) DrawLatencyPlot(report_, plot, options_, out_);
  }

  void Latencies() {
    const TimeScale scale = ScaleOfLatencies(report_);
    std::vector<std::string> labels;
    std::vector<std::string> medians;
    std::vector<std::string> tails;
    int label_width = 0;
    int median_width = 0;
    int tail_width = 0;
    for (const ReportExperiment& experiment : report_.experiments) {
      labels.push_back(report_.experiments.size() == 1 ? "latency" : Fitted(OneLine(experiment.label), 28));
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
      std::vector<VerdictLine> verdicts;
      for (const ReportComparison& pair : report_.comparisons) {
        if (pair.candidate == i) verdicts.push_back(VerdictOf(pair));
      }
      const int verdict_column = DisplayWidth(line) + 3;
      Verdicts(verdicts, verdict_column, line);
      if (!verdicts.empty()) continue;
      std::string interval;
      if (report_.comparisons.empty() && experiment.interval) {
        interval = fmt::format("[{}, {}]", scale.Number(experiment.interval->low),
                               scale.Number(experiment.interval->high));
        const std::string over = fmt::format(" over {} launches", experiment.interval->launches);
        if (verdict_column + DisplayWidth(interval + over) <= width_) interval += over;
        if (verdict_column + DisplayWidth(interval) > width_) interval.clear();
      }
      if (!interval.empty()) line += "   " + interval;
      line.erase(line.find_last_not_of(' ') + 1);
      out_ << line << '\n';
    }
    for (const ReportComparison* const pair : PairsToShow()) {
      const std::string factors = FactorsText(*pair);
      const std::string of = report_.comparisons.size() > 1 ? pair->comparison.candidate_label + ": " : "";
      if (!factors.empty()) WriteWrapped("", OneLine(of + factors), 2, width_, out_);
    }
    for (const std::string& line : SampleLines()) {
      std::ostringstream wrapped;
      WriteWrapped("", line, 2, width_, wrapped);
      out_ << Paint(wrapped.str(), Color::kDim);
    }
    out_ << '\n';
  }

  struct VerdictLine {
    std::string verdict, rest;
    Color color;
  };

  VerdictLine VerdictOf(const ReportComparison& pair) const {
    const Quantity& latency = pair.comparison.latency;
    const VerdictWords words = WordsOf(latency);
    VerdictLine line;
    line.verdict =
        OneLine(report_.comparisons.size() > 1 ? VerdictAgainst(latency, pair.comparison.baseline_label)
                                               : words.verdict);
    line.rest = words.interval.empty() ? "" : "  " + words.interval;
    if (const std::string efficiency = Efficiency(pair); !efficiency.empty()) line.rest += "  " + efficiency;
    line.color = ColorOf(latency.verdict);
    return line;
  }

  // Behind the candidate's latency (`line`) from a column on, or where there is no room for one of them, all
  // on lines of their own.
  void Verdicts(const std::vector<VerdictLine>& verdicts, int column, std::string line) {
    const bool fit = std::all_of(verdicts.begin(), verdicts.end(), [&](const VerdictLine& one) {
      return column + DisplayWidth(one.verdict + one.rest) <= width_;
    });
    if (!fit) {
      line.erase(line.find_last_not_of(' ') + 1);
      out_ << line << '\n';
      line.clear();
      column = 4;
    }
    for (const VerdictLine& one : verdicts) {
      out_ << line << Blanks(column - DisplayWidth(line)) << Paint(one.verdict, one.color) << one.rest
           << '\n';
      line.clear();
    }
  }

  // Of a thread sweep whose matrix is not drawn.
  std::string Efficiency(const ReportComparison& pair) const {
    for (const Matrix& matrix : report_.matrices) {
      if (!matrix.threads || !IsOnePair(matrix) || matrix.baseline != pair.baseline ||
          matrix.candidates.front() != pair.candidate || options_.all)
        continue;
      const auto efficiency =
          EfficiencyOf(pair.comparison.latency, report_.experiments[pair.baseline].threads,
                       report_.experiments[pair.candidate].threads);
      if (efficiency) return "efficiency " + PercentText(*efficiency);
    }
    return "";
  }

  void Sustained() {
    for (const ReportExperiment& experiment : report_.experiments) {
      if (experiment.sustained) DrawSection(say::SaySustained(experiment), options_, out_);
    }
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

  // "median of 40 untraced runs", "medians of 40 to 90 untraced runs".
  template <typename Number>
  std::string Range(const char* what, const char* preposition, const char* runs, Number number) const {
    std::int64_t least = number(report_.experiments.front()), most = least;
    for (const ReportExperiment& experiment : report_.experiments) {
      least = std::min<std::int64_t>(least, number(experiment));
      most = std::max<std::int64_t>(most, number(experiment));
    }
    if (least == most) return fmt::format("{} {} {} {}", what, preposition, least, runs);
    return fmt::format("{}s {} {} to {} {}", what, preposition, least, most, runs);
  }

  static std::string CleanOfAll(const ReportExperiment& experiment) {
    return fmt::format("{} of {}", FormatCount(experiment.clean_runs),
                       FormatCount(experiment.latency_of_all.n));
  }

  // What the medians are of, in a line for all, where it differs in numbers alone; else empty.
  std::string SampleOfAll() const {
    const auto plain = [](const ReportExperiment& experiment) {
      return experiment.latency.n > 1 && !experiment.latency_from_trace && !experiment.tracer_always_on &&
             experiment.period == 0 && experiment.common_runs > 0;
    };
    const auto& all = report_.experiments;
    if (options_.all || all.size() < 2 || !std::all_of(all.begin(), all.end(), plain)) return "";
    std::string clean;
    constexpr std::size_t kMostNamed = 3;
    const bool alike = std::all_of(all.begin(), all.end(), [&](const ReportExperiment& one) {
      return CleanOfAll(one) == CleanOfAll(all.front());
    });
    if (alike) {
      clean = CleanOfAll(all.front());
    } else if (all.size() <= kMostNamed) {
      for (const ReportExperiment& one : all)
        clean += fmt::format("{}{}",
                             &one == &all.front()  ? ""
                             : &one == &all.back() ? " and "
                                                   : ", ",
                             CleanOfAll(one));
    } else {
      std::int64_t runs = 0, of = 0;
      for (const ReportExperiment& one : all) {
        runs += one.clean_runs;
        of += one.latency_of_all.n;
      }
      clean = fmt::format("{} of {} in all", FormatCount(runs), FormatCount(of));
    }
    return fmt::format("median{} of clean untraced runs: {}; ", alike ? "" : "s", clean) +
           Range("table", "from", "traced runs", [](const auto& e) { return e.common_runs; });
  }

  // What the medians are of.
  std::vector<std::string> SampleLines() const {
    std::vector<std::string> lines = SampleOfEach();
    if (const std::string all = DisturbedTails(); !all.empty()) lines.push_back(all);
    return lines;
  }

  // What somebody who uses the device as it is meets, where that is not what the clean runs show.
  std::string DisturbedTails() const {
    constexpr double kHardlyAny = 0.02;
    std::string tails;
    bool disturbed = false;
    for (const ReportExperiment& experiment : report_.experiments) {
      const stats::Distribution& all = experiment.latency_of_all;
      if (all.n == 0) return "";
      const double lost = static_cast<double>(all.n - experiment.clean_runs) / static_cast<double>(all.n);
      disturbed = disturbed || lost > kHardlyAny;
      const Tail tail = TailOf(all);
      if (!tail.value) return "";
      tails += fmt::format("{}{} {}", tails.empty() ? "" : ", ", tail.name, FormatMilliseconds(*tail.value));
    }
    return disturbed ? fmt::format("all untraced runs, clean or not: {}", tails) : "";
  }

  std::vector<std::string> SampleOfEach() const {
    if (const std::string all = SampleOfAll(); !all.empty()) return {all};
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
        const bool one = experiment.latency_of_all.n == 1;
        line = experiment.clean_runs > 0
                   ? fmt::format("median of clean untraced run{}: {}", one ? "" : "s", CleanOfAll(experiment))
                   : fmt::format("contended: none of {} untraced run{} is clean, median of all of them",
                                 FormatCount(experiment.latency_of_all.n), one ? "" : "s");
        if (experiment.tracer_always_on) line += ", the tracer's cost included";
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
        lines[i] = Fitted(OneLine(report_.experiments[i].label), 28) + ": " + lines[i];
    }
    return lines;
  }

  void Footer() {
    std::size_t said = 0;
    for (const Insight& insight : report_.insights) {
      if (!options_.all && said == (report_.ladder ? kLadderInsights : kInsights)) break;
      if (!options_.all && insight.kind == Insight::Kind::kAmdahl) continue;  // each line says its own bound
      Labelled(said == 0 ? "next" : "", insight.text);
      ++said;
      if (!options_.all) continue;
      for (const std::string& evidence : insight.evidence)
        WriteWrapped(Blanks(9) + "- ", evidence, 11, width_, out_);
      if (!insight.formula.empty()) WriteWrapped(Blanks(9) + "= ", insight.formula, 11, width_, out_);
    }
    const std::string noise = Noise();
    if (!noise.empty()) Labelled("noise", noise);
    Notes();
    Health();
    if (options_.more.empty()) return;
    Labelled("more", options_.more);
    if (!options_.all) Labelled("", "--all shows everything here");
  }

  // "known to ±1.0 % (avx512 on), ±5.5 % (avx2 on): ...": each pair has an interval of its own.
  std::string KnownTo() const {
    constexpr std::size_t kMostNamed = 3;
    std::vector<const ReportComparison*> known;
    for (const ReportComparison& pair : report_.comparisons) {
      if (pair.half_width) known.push_back(&pair);
    }
    if (known.empty()) return "";
    const auto width = [](const ReportComparison* pair) { return "±" + RelativeText(*pair->half_width); };
    std::string widths;
    if (report_.comparisons.size() == 1) {
      widths = width(known.front());
    } else if (known.size() <= kMostNamed) {
      for (const ReportComparison* pair : known)
        widths += fmt::format("{}{} ({})", widths.empty() ? "" : ", ", width(pair),
                              pair->comparison.candidate_label);
    } else {
      const auto [least, most] =
          std::minmax_element(known.begin(), known.end(),
                              [](const auto* a, const auto* b) { return *a->half_width < *b->half_width; });
      widths = fmt::format("{} at best, {} at worst ({})", width(*least), width(*most),
                           (*most)->comparison.candidate_label);
    }
    return fmt::format("known to {}: smaller changes do not show in this measurement.", widths);
  }

  std::string Noise() const {
    std::string text;
    if (report_.noise_floor) {
      text = fmt::format("this machine can show changes above {} (A/A).", RelativeText(*report_.noise_floor));
    } else if (!report_.comparisons.empty() && !report_.emulated) {
      text = KnownTo();
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
      if (said == kMostNotes && !options_.all) {
        Labelled("", fmt::format("and {} more with --all", report_.warnings.size() - said));
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
  const TerminalOptions options_;
  const int width_;
  std::ostream& out_;
};

}  // namespace

void RenderTerminal(const Report& report, const TerminalOptions& options, std::ostream& out) {
  TerminalOptions wide_enough = options;
  wide_enough.width = std::max(kLeastWidth, options.width);
  DrawOn(wide_enough, out,
         [&](const TerminalOptions& on, std::ostream& text) { ReportScreen(report, on, text).Draw(); });
}

}  // namespace etprof
