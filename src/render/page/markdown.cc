#include "render/page/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "render/document.h"
#include "render/ladder_files.h"
#include "render/page/markdown_breakdown.h"
#include "render/page/markdown_matrix.h"
#include "render/page/markdown_text.h"
#include "render/speedup_words.h"
#include "say/breakdown_by.h"
#include "say/counters.h"
#include "say/facts.h"
#include "say/roofline.h"
#include "say/sustained.h"
#include "say/wording.h"

namespace etprof {
namespace {

using namespace markdown;

class Markdown {
 public:
  Markdown(const Report& report, std::ostream& out)
      : report_(report), time_(ScaleOfLatencies(report)), out_(out) {}

  void Write() {
    out_ << "# " << HeaderText(report_) << "\n\n";
    Answer();
    Conditions();
    Latency();
    for (const Matrix& matrix : report_.matrices) RenderMatrix(report_, matrix, out_);
    if (!report_.ladder) {
      for (const ReportComparison& pair : report_.comparisons) RenderPairTables(report_, pair, out_);
    }
    for (std::size_t i = 0; i < report_.experiments.size(); ++i) {
      // An experiment that stands in a pair is told there; on its own, here.
      if (!InPair(report_, i) && !report_.ladder)
        RenderExperimentTables(report_, report_.experiments[i], out_);
    }
    const std::vector<std::size_t> subjects = Subjects(report_);
    const bool titled = subjects.size() > 1 || !report_.comparisons.empty();
    for (const std::size_t subject : subjects) RenderCostliest(report_.experiments[subject], titled, out_);
    for (const std::size_t subject : subjects) RenderPlaces(report_.experiments[subject], titled, out_);
    if (std::ranges::any_of(report_.experiments, [](const auto& one) { return !one.layers.empty(); })) {
      for (const say::By by : {say::By::kLayer, say::By::kSource}) {
        for (const say::Section& section : say::SayBreakdownBy(report_, by)) WriteSection(section, 2, out_);
      }
    }
    for (const say::Section& section : say::SayRoofline(report_)) WriteSection(section, 2, out_);
    Kernels();
    Next();
    Trust();
    Artifacts();
  }

  void WriteBrief() {
    out_ << "### " << HeaderText(report_) << "\n\n";
    Answer();
    Table table = MakeTable({{"experiment", Align::kLeft},
                             {"median", Align::kRight},
                             {"p90", Align::kRight},
                             {"p99", Align::kRight},
                             {"runs", Align::kRight}});
    for (const ReportExperiment& experiment : report_.experiments) {
      table.AddRow({experiment.label, time_(experiment.latency.p50), time_(experiment.latency.p90),
                    time_(experiment.latency.p99), std::to_string(experiment.latency.n)});
    }
    out_ << table << '\n';
    const std::size_t most = std::min<std::size_t>(kBriefInsights, report_.insights.size());
    for (std::size_t i = 0; i < most; ++i) out_ << "- " << report_.insights[i].text << '\n';
    if (most > 0) out_ << '\n';
    for (const ReportComparison& pair : report_.comparisons) {
      std::ostringstream written;
      Out groups(written);
      if (report_.ladder || !RenderPairGroups(report_, pair, groups)) continue;
      out_ << "<details><summary>Where the time goes</summary>\n\n";
      if (report_.comparisons.size() > 1)
        out_ << pair.comparison.candidate_label << " against " << pair.comparison.baseline_label << "\n\n";
      out_.Written(written.str()) << "\n</details>\n\n";
    }
    for (const std::string& warning : report_.warnings) out_ << "> " << warning << "\n>\n";
  }

 private:
  static constexpr std::size_t kBriefInsights = 3;

  void Answer() {
    if (report_.ladder) {
      RenderLadderMarkdown(report_, out_);
      return;
    }
    for (const ReportComparison& pair : report_.comparisons) {
      const VerdictWords words = WordsOf(pair.comparison.latency);
      out_ << "**" << pair.comparison.candidate_label << " against " << pair.comparison.baseline_label << ": "
           << words.verdict << "**" << (words.interval.empty() ? "" : " " + words.interval);
      if (pair.comparison.latency.estimate && !report_.emulated) {
        out_.Format(" ({:.0f} % interval{})", pair.comparison.latency.estimate->confidence * 100,
                    pair.comparison.pairing == Pairing::kLaunches ? ", " + SampleText(pair.comparison)
                                                                  : ", unpaired");
      }
      out_ << "\n\n";
    }
    if (report_.emulated)
      out_ << "The CPU was emulated: these times mean nothing, only names and structure do.\n\n";
  }

  void Conditions() {
    Table table = MakeTable({{"condition", Align::kLeft}, {"value", Align::kLeft}});
    for (const Fact& fact : RunFacts(report_)) table.AddRow({fact.name, fact.value});
    if (!table.rows.empty()) out_ << "## Conditions\n\n" << table << '\n';
    if (report_.bare) {
      out_ << (table.rows.empty() ? "## Conditions\n\n" : "")
           << "Nothing is known but what the ETDump says: no device, no schedule, no untraced latency.\n\n";
    }
    Experiments();
  }

  void Experiments() {
    Table table = MakeTable({{"experiment", Align::kLeft},
                             {"threads", Align::kRight},
                             {"features masked", Align::kLeft},
                             {"CPUs", Align::kLeft},
                             {"runner", Align::kLeft},
                             {"ExecuTorch", Align::kLeft},
                             {"operator clock", Align::kLeft}});
    bool any = false;
    for (const ReportExperiment& experiment : report_.experiments) {
      const ExperimentData& data = report_.run.experiments[experiment.index];
      const auto or_dash = [](const std::string& text) {
        return text.empty() ? std::string(kUndefined) : text;
      };
      any = any || !data.runner.empty() || !data.isa.empty() || !data.executorch_version.empty();
      table.AddRow({experiment.label, report_.bare ? kUndefined : std::to_string(experiment.threads),
                    or_dash(data.isa), or_dash(data.cpus), or_dash(data.runner.filename().string()),
                    or_dash(data.executorch_version), or_dash(data.operator_clock)});
    }
    if (any) out_ << table << '\n';
  }

  void Latency() {
    out_ << "## Latency\n\n";
    Table table = MakeTable({{"experiment", Align::kLeft},
                             {"median", Align::kRight},
                             {"mean", Align::kRight},
                             {"p90", Align::kRight},
                             {"p99", Align::kRight},
                             {"min", Align::kRight},
                             {"max", Align::kRight},
                             {"sd", Align::kRight},
                             {"CV", Align::kRight},
                             {"runs", Align::kRight},
                             {"outliers", Align::kRight},
                             {"first run", Align::kRight},
                             {"load", Align::kRight}});
    for (const ReportExperiment& experiment : report_.experiments) {
      const stats::Distribution& d = experiment.latency;
      // A quantile that this few values cannot show is not shown.
      table.AddRow({experiment.label, time_(d.p50), time_(d.mean), d.n >= 10 ? time_(d.p90) : kUndefined,
                    d.n >= 100 ? time_(d.p99) : kUndefined, time_(d.min), time_(d.max), time_(d.sd),
                    d.cv ? PercentText(*d.cv) : kUndefined, std::to_string(d.n), std::to_string(d.outliers),
                    time_(experiment.first_run), time_(experiment.load)});
    }
    out_ << table << '\n';
    const bool any_trace =
        std::any_of(report_.experiments.begin(), report_.experiments.end(),
                    [](const ReportExperiment& e) { return e.latency_from_trace && e.latency.n > 0; });
    const auto untraced = [&](bool tracer_on) {
      return std::any_of(report_.experiments.begin(), report_.experiments.end(),
                         [tracer_on](const ReportExperiment& e) {
                           return !e.latency_from_trace && e.latency.n > 0 && e.tracer_always_on == tracer_on;
                         });
    };
    const bool any_untraced = untraced(false);
    const bool any_always_on = untraced(true);
    if (any_untraced)
      out_ << "Times of steady runs with the tracer off; first runs and warm-up are left out.\n";
    if (any_always_on) {
      out_ << (any_untraced ? "Of a runner whose tracer is always on: times" : "Times")
           << " of steady runs with the tracer on, so its own cost is in them; first runs and warm-up are "
              "left "
              "out.\n";
    }
    if (any_trace) {
      out_ << (any_untraced || any_always_on ? "Where there are none: " : "")
           << "Method::execute of the traced steady runs, so the tracer's own cost is in them.\n";
    }
    out_ << '\n';
    for (const ReportExperiment& experiment : report_.experiments) {
      if (experiment.sustained) WriteSection(say::SaySustained(experiment), 3, out_);
    }
    if (report_.comparisons.empty() || report_.ladder) return;
    Table pairs = MakeTable({{"comparison", Align::kLeft},
                             {"before", Align::kRight},
                             {"after", Align::kRight},
                             {"ratio", Align::kRight},
                             {"interval", Align::kLeft},
                             {"verdict", Align::kLeft},
                             {"measured", Align::kLeft}});
    for (const ReportComparison& pair : report_.comparisons) {
      const Comparison& comparison = pair.comparison;
      const Quantity& latency = comparison.latency;
      std::string name = comparison.candidate_label + " against " + comparison.baseline_label;
      if (!pair.label.empty()) name = pair.label + ": " + name;
      const std::string sample = SampleText(comparison);
      pairs.AddRow({name, time_(latency.baseline_ns), time_(latency.candidate_ns),
                    latency.estimate && latency.verdict != stats::Verdict::kEmulated
                        ? RatioText(latency.estimate->ratio())
                        : kUndefined,
                    IntervalText(latency), NameOf(latency.verdict),
                    sample.empty() ? (comparison.pairing == Pairing::kUnpaired ? "unpaired" : "too few runs")
                                   : sample});
    }
    out_ << pairs << "\nA ratio above 1 means faster. \"same\" means that the interval lies within "
         << RelativeText(report_.run.schedule.margin > 0 ? report_.run.schedule.margin
                                                         : CompareOptions{}.margin)
         << " of 1; what is neither same, faster nor slower is inconclusive.\n\n";
    for (const ReportComparison& pair : report_.comparisons) {
      const std::string factors = FactorsText(pair);
      if (factors.empty()) continue;
      const std::string of = report_.comparisons.size() > 1 ? pair.comparison.candidate_label + ": " : "";
      out_ << (of + factors) << "\n\n";
    }
    Costs();
    for (const ReportComparison& pair : report_.comparisons) {
      if (!pair.outputs) continue;
      out_ << "Outputs of " << pair.comparison.baseline_label << " and " << pair.comparison.candidate_label
           << ": "
           << (pair.outputs->equal ? "equal bit for bit"
                                   : (pair.outputs->note.empty() ? "they differ" : pair.outputs->note));
      if (pair.outputs->largest_absolute)
        out_.Format(", largest absolute difference {:.3g}", *pair.outputs->largest_absolute);
      if (pair.outputs->largest_relative)
        out_.Format(", largest relative difference {:.3g}", *pair.outputs->largest_relative);
      out_ << ".\n\n";
    }
  }

  // Load time and memory beside the latency, where they are known.
  void Costs() {
    Table table = MakeTable({{"beside the latency", Align::kLeft},
                             {"before", Align::kRight},
                             {"after", Align::kRight},
                             {"change", Align::kLeft},
                             {"interval", Align::kLeft}});
    for (const ReportComparison& pair : report_.comparisons) {
      const auto add = [&](const char* name, const SideCost& cost, std::string (*format)(double)) {
        if (!cost.baseline || !cost.candidate) return;
        const std::string verdict = CostVerdict(cost);
        table.AddRow({fmt::format("{}: {} against {}", name, pair.comparison.candidate_label,
                                  pair.comparison.baseline_label),
                      format(*cost.baseline), format(*cost.candidate), verdict.empty() ? kUndefined : verdict,
                      CostInterval(cost)});
      };
      add("load", pair.costs.load, FormatMilliseconds);
      add("first run", pair.costs.first_run, FormatMilliseconds);
      add("peak memory", pair.costs.peak_memory, FormatBytes);
    }
    if (table.rows.empty()) return;
    out_ << table
         << "\nMedians over launches; for memory, the maximum. The interval is of the change, paired by "
            "launch.\n\n";
  }

  void Kernels() {
    const bool any =
        std::any_of(report_.experiments.begin(), report_.experiments.end(),
                    [](const ReportExperiment& experiment) { return !experiment.matrix_kernels.empty(); });
    if (!any) return;
    out_ << "## Kernels for matrices\n\n"
            "XNNPACK names an operator by packed data types (PF32, PF16, PQS8) when it computes it with "
            "KleidiAI's SME or SME2 kernels.\n\n";
    for (const ReportExperiment& experiment : report_.experiments) {
      if (experiment.matrix_kernels.empty()) continue;
      out_ << "**" << experiment.label << "**: ";
      if (experiment.kernel_evidence.empty()) out_ << "no operator of KleidiAI's SME kernels";
      for (std::size_t i = 0; i < experiment.kernel_evidence.size(); ++i)
        out_ << (i > 0 ? ", " : "") << experiment.kernel_evidence[i];
      out_ << "\n\n" << KernelTable(experiment) << '\n';
    }
  }

  static Table KernelTable(const ReportExperiment& experiment) {
    Table table;
    table.columns = {{"kernels", Table::Align::kLeft},
                     {"operators", Table::Align::kRight},
                     {"mean", Table::Align::kRight},
                     {"why not KleidiAI's for SME2", Table::Align::kLeft},
                     {"to change at export", Table::Align::kLeft}};
    const double scaled = experiment.latency.p50.value_or(0);
    for (const MatrixKernelRow& row : experiment.matrix_kernels)
      table.AddRow({MatrixKernelsText(row.ran), std::to_string(row.operators.size()),
                    ScaleFor(scaled, scaled).Text(row.mean_ns), row.why, row.change});
    return table;
  }

  void Next() {
    if (report_.insights.empty()) return;
    out_ << "## What to do next\n\nBy the time at stake in one inference.\n\n";
    int number = 1;
    for (const Insight& insight : report_.insights) {
      out_ << number++ << ". " << insight.text << '\n';
      for (const std::string& line : insight.evidence) out_ << "   - " << line << '\n';
      if (!insight.formula.empty()) out_ << "   - How: " << insight.formula << '\n';
    }
    out_ << '\n';
  }

  void Trust() {
    out_ << "## How far to trust this\n\n";
    bool said = false;
    const auto line = [&](const std::string& text) {
      out_ << "- " << text << '\n';
      said = true;
    };
    if (report_.noise_floor)
      line(fmt::format("An A/A pair shows changes above {} on this machine.",
                       RelativeText(*report_.noise_floor)));
    for (const ReportComparison& pair : report_.comparisons) {
      if (pair.half_width && !report_.emulated && !report_.ladder) {
        line(fmt::format("{} against {} is known to ±{}.", pair.comparison.candidate_label,
                         pair.comparison.baseline_label, RelativeText(*pair.half_width)));
      }
    }
    for (const ReportExperiment& experiment : report_.experiments) {
      if (experiment.period > 0) line(fmt::format("{}: {}.", experiment.label, PaceText(experiment)));
      if (experiment.traced_runs > 0) {
        line(fmt::format(
            "{}: {} traced runs: {} first, {} warm-up, {} steady, of which {} within Tukey's fences.",
            experiment.label, experiment.traced_runs, experiment.first_runs, experiment.warmup_runs,
            experiment.steady_runs, experiment.common_runs));
      }
      if (experiment.disturbed_bursts > 0) {
        line(fmt::format(
            "{}: {} of {} bursts were disturbed (outside Tukey's fences, or never level); they are kept.",
            experiment.label, experiment.disturbed_bursts, experiment.bursts.size()));
      }
    }
    for (const std::string& warning : report_.warnings) line(warning);
    for (const ReportExperiment& experiment : report_.experiments) {
      if (!experiment.profile) continue;
      for (const HealthEntry& entry : experiment.profile->health.entries()) {
        std::string text = fmt::format("{}: trace: {} x {}: {}", experiment.label, entry.count, entry.name,
                                       entry.explanation);
        if (entry.amount != 0) text += ", " + FormatDuration(static_cast<double>(entry.amount));
        if (!entry.first_place.empty()) text += " (first: " + entry.first_place + ")";
        line(text);
      }
    }
    if (!said) out_ << "Nothing odd was seen.\n";
    out_ << '\n';
  }

  void Artifacts() {
    if (report_.artifacts.empty()) return;
    out_ << "## Files\n\n";
    for (const std::string& file : report_.artifacts) out_ << "- " << file << '\n';
  }

  const Report& report_;
  const Times time_;  // of latencies
  markdown::Out out_;
};

}  // namespace

void RenderMarkdown(const Report& report, std::ostream& out) {
  Markdown(report, out).Write();
  const say::Document counters = say::SayCounters(say::CountersOf(report.run));
  if (counters.sections.empty()) return;
  out << '\n';
  RenderDocumentMarkdown(counters, 2, out);
}

void RenderBriefMarkdown(const Report& report, std::ostream& out) { Markdown(report, out).WriteBrief(); }

}  // namespace etprof
