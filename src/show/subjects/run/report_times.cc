#include <fmt/format.h>

#include <algorithm>

#include "report/findings/traced.h"
#include "show/subjects/run/report.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr double kMinGroupShare = 0.02;  // share of the whole below which a screen merges groups into one row
constexpr auto kVariant = Table::KeptPart::kDifference;

// A row of a table of self times, for one variant or both.
struct SelfTime {
  std::string name;
  std::int64_t operators = 0;
  double baseline = 0, candidate = 0;  // mean, ns
  const Quantity* quantity = nullptr;
  Row::Role role = Row::Role::kPart;
  bool group = true;  // one or several groups, whose share of the whole is shown
};

// The experiments in a table of self times: a pair, or only `baseline`.
struct Variants {
  const ReportExperiment& baseline;
  const ReportExperiment* candidate = nullptr;
  const Quantity* latency = nullptr;

  const ReportExperiment& Subject() const { return candidate != nullptr ? *candidate : baseline; }
  std::string TracerRow() const {
    const std::string name = TracerRowName(baseline);
    return candidate != nullptr && name == kTracingOverhead ? TracerRowName(*candidate) : name;
  }
  bool Disturbed() const {
    return baseline.TablesAreDisturbed() || (candidate != nullptr && candidate->TablesAreDisturbed());
  }
  // Tracing takes a large part of very short runs. A screen, which has no space for the explanation, then
  // leaves these times out: a finding names the difference.
  bool AreDistortedByTracing() const {
    constexpr double kMaxShownGap = 0.25;
    const auto is_distorted = [](const ReportExperiment& experiment) {
      const std::optional<TracedGap> gap = FindTracedGap(experiment);
      return gap && gap->relative() > kMaxShownGap && !TracedTimesWereDisturbed(experiment);
    };
    return is_distorted(baseline) || (candidate != nullptr && is_distorted(*candidate));
  }
};

double TotalTime(const ReportExperiment& experiment) { return experiment.MeanExecute().value_or(0); }

bool IsSmall(const SelfTime& of, const Variants& variants) {
  return of.baseline < kMinGroupShare * TotalTime(variants.baseline) &&
         (variants.candidate == nullptr || of.candidate < kMinGroupShare * TotalTime(*variants.candidate));
}

// Rows by decreasing time. A screen merges the small ones into one row. Then the sums down to the median
// latency follow.
std::vector<SelfTime> MakeSelfTimeRows(const Variants& variants, std::vector<SelfTime> times) {
  const bool pair = variants.candidate != nullptr;
  std::erase_if(times, [](const SelfTime& of) { return of.baseline == 0 && of.candidate == 0; });
  std::ranges::stable_sort(times, std::greater(), pair ? &SelfTime::candidate : &SelfTime::baseline);
  const auto is_small = [&](const SelfTime& of) { return IsSmall(of, variants); };
  const auto small = std::ranges::count_if(times, is_small);
  const bool has_other = std::ranges::any_of(
      times, [&](const SelfTime& of) { return of.name == GroupName(Group::kOther) && !is_small(of); });
  SelfTime rest{has_other ? fmt::format("{} smaller groups", small)
                          : fmt::format("Other ({} groups)", small)};
  rest.role = Row::Role::kRest;
  SelfTime whole{.name = kTracedTotal, .role = Row::Role::kSum, .group = false};
  for (const SelfTime& of : times) {
    whole.baseline += of.baseline;
    whole.candidate += of.candidate;
    if (!is_small(of)) continue;
    rest.baseline += of.baseline;
    rest.candidate += of.candidate;
  }
  if (small >= 2) times.push_back(rest);
  times.push_back(whole);
  const bool known = variants.baseline.tracer && (!pair || variants.candidate->tracer);
  if (known) {
    times.push_back({.name = variants.TracerRow(),
                     .baseline = *variants.baseline.tracer,
                     .candidate = pair ? *variants.candidate->tracer : 0,
                     .group = false});
  }
  if (variants.baseline.latency.p50 && (!pair || variants.candidate->latency.p50)) {
    times.push_back({.name = "Median latency",
                     .baseline = *variants.baseline.latency.p50,
                     .candidate = pair ? *variants.candidate->latency.p50 : 0,
                     .quantity = variants.latency,
                     .role = known ? Row::Role::kSum : Row::Role::kPlain,
                     .group = false});
  }
  return times;
}

// The columns for a pair are time, share, time, saved, speedup, interval, share.
Table MakeSelfTimesTable(const Report& report, const Variants& variants, const std::vector<SelfTime>& times) {
  using Of = SelfTime;
  const bool pair = variants.candidate != nullptr;
  const auto baseline = [](const Of& of) { return Time{of.baseline}; };
  const auto is_compared = [](const Of& of) { return of.group && of.quantity != nullptr; };
  Table table{.id = "self_times", .span = LatencySpan(report)};
  table.Fill<Of>(
      {{Left("name", "Self time"), &Of::name},
       {Right("operators").WithDropPriority(1).WithLevel(Level::kPage),
        [](const Of& of) { return of.operators > 0 ? Cell(Count{of.operators}) : Cell(""); }, !pair},
       {Right("mean"), baseline, !pair},
       {VariantColumn("baseline", variants.baseline.label), baseline, pair},
       {Right("baseline_share", "% of baseline").WithDropPriority(2).WithLevel(Level::kPage),
        [&](const Of& of) {
          return is_compared(of) ? ShareCell(of.baseline, TotalTime(variants.baseline)) : Cell("");
        },
        pair},
       {VariantColumn("candidate", variants.Subject().label), [](const Of& of) { return Time{of.candidate}; },
        pair},
       {Right("saved").WithDropPriority(1).WithLevel(Level::kPage),
        [&](const Of& of) { return is_compared(of) ? Cell(Time{of.baseline - of.candidate}) : Cell(""); },
        pair},
       {Right("speedup"),
        [&](const Of& of) {
          Cell speedup = CellOrBlank<Speedup>(of.quantity);
          if (of.role == Row::Role::kPart && IsSmall(of, variants)) speedup.level = Level::kPage;
          return speedup;
        },
        pair},
       {Left("interval", "95% CI").WithDropPriority(3).WithLevel(Level::kPage),
        [](const Of& of) { return CellOrBlank<Interval>(of.quantity); }, pair},
       {Right("share", "% of total").WithDropPriority(4).WithBars(),
        [&](const Of& of) {
          return of.group ? ShareCell(pair ? of.candidate : of.baseline, TotalTime(variants.Subject()))
                          : Cell("");
        }}},
      times);
  const bool has_rest = std::ranges::find(times, Row::Role::kRest, &Of::role) != times.end();
  for (std::size_t i = 0; i < times.size(); ++i) {
    table.rows[i].role = times[i].role;
    if (has_rest && times[i].group && times[i].role == Row::Role::kPart && IsSmall(times[i], variants))
      table.rows[i].level = Level::kPage;
  }
  return table;
}

std::vector<SelfTime> MakeSelfTimes(const Comparison& comparison) {
  std::vector<SelfTime> times;
  for (const DeltaRow& row : comparison.groups) {
    times.push_back({row.name, 0, MeanPerRun(row.baseline_total, comparison.baseline_runs),
                     MeanPerRun(row.candidate_total, comparison.candidate_runs), &row.quantity});
  }
  return times;
}

std::vector<SelfTime> MakeSelfTimes(const Breakdown& breakdown) {
  std::vector<SelfTime> times;
  for (const AdditiveRow& row : breakdown.rows)
    times.push_back({row.name, row.operators, MeanPerRun(row.total, breakdown.runs)});
  return times;
}

std::string LegendText(const Report& report, const Variants& variants) {
  std::string runs = std::to_string(variants.baseline.common_runs);
  if (variants.candidate != nullptr) runs += " and " + std::to_string(variants.candidate->common_runs);
  const std::string undefined = UndefinedText(report);
  return fmt::format(
      "Means over {} traced steady runs within Tukey's fences. Each column adds up as printed: \"{}\" leads "
      "from the traced total to the median latency. \"same\": no difference larger than the margin.{}{}",
      runs, variants.TracerRow(), undefined.empty() ? "" : " ", undefined);
}

void AddSelfTimes(const Report& report, const Variants& variants, std::vector<SelfTime> groups,
                  const std::string& suffix, bool usual, std::vector<Section>& sections) {
  Table table = MakeSelfTimesTable(report, variants, MakeSelfTimeRows(variants, std::move(groups)));
  table.title = "Self time by group" + suffix;
  if (variants.Disturbed()) table.columns.front().title = "Self time, contended";
  sections.push_back({"",
                      usual && !variants.AreDistortedByTracing() ? Level::kBrief : Level::kPage,
                      {std::move(table), Paragraph{LegendText(report, variants), Level::kPage}}});
}

// A column for each experiment.
Section MakeSideBySideSection(const Report& report) {
  Table table{"side_by_side", "Self time side by side", {Left("name", "Self time")}};
  table.span = LatencySpan(report);
  std::vector<const ReportExperiment*> variants;
  for (const ReportExperiment& experiment : report.experiments) {
    if (!HasTimes(experiment)) continue;
    variants.push_back(&experiment);
    table.columns.push_back(VariantColumn(experiment.label, experiment.label));
  }
  if (variants.empty()) return {};
  // The last columns are dropped first.
  for (std::size_t i = 1; i < table.columns.size(); ++i)
    table.columns[i].drop_priority = static_cast<int>(table.columns.size() - i);
  const auto add = [&](const std::string& name, Row::Role role, const auto& value) {
    std::vector<Cell> cells = {name};
    for (const ReportExperiment* const side : variants) cells.push_back(value(*side));
    table.rows.push_back({std::move(cells), role});
  };
  const std::vector<AdditiveRow>& groups = variants.front()->groups.rows;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (std::ranges::any_of(variants, [&](const auto* side) { return side->groups.rows[i].total != 0; }))
      order.push_back(i);
  }
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return groups[i].total; });
  for (const std::size_t i : order) {
    add(groups[i].name, Row::Role::kPart, [&](const ReportExperiment& side) {
      return Cell(Time{MeanPerRun(side.groups.rows[i].total, side.groups.runs)});
    });
  }
  add(kTracedTotal, Row::Role::kSum,
      [](const ReportExperiment& side) { return OptionalCell<Time>(side.MeanExecute()); });
  add(TracerRowName(*variants.front()), Row::Role::kPart,
      [](const ReportExperiment& side) { return OptionalCell<Time>(side.tracer); });
  if (std::ranges::any_of(variants, [](const auto* side) { return side->run_classes.empty(); })) {
    add("Median latency", Row::Role::kSum,
        [](const ReportExperiment& side) { return OptionalCell<Time>(side.latency.p50); });
  }
  return {"", Level::kUsual, {std::move(table)}};
}

// Whether the one latency of the experiment is of disturbed runs.
bool IsContended(const ReportExperiment& experiment) {
  return experiment.run_classes.empty() && experiment.LatencyIsDisturbed();
}

std::string TextOf(const OutputDifference& of) {
  if (of.equal) return "equal bit for bit";
  if (of.largest_absolute && of.largest_relative)
    return fmt::format("at most {:.2g} apart (relative {:.2g})", *of.largest_absolute, *of.largest_relative);
  return of.note.empty() ? "different" : of.note;
}

}  // namespace

std::vector<Section> MakeLatencySections(const Report& report) {
  if (report.experiments.empty()) return {};
  const auto& all = report.experiments;
  const bool p99 =
      std::ranges::all_of(all, [](const auto& one) { return one.latency.n >= stats::kMinValuesForP99; });
  const bool pairs = !report.comparisons.empty();  // a screen then shows the intervals of the pairs
  const auto page = [](const char* id, const char* title, int drop_priority) {
    return Right(id, title).WithDropPriority(drop_priority).WithLevel(Level::kPage);
  };
  const bool memory = std::ranges::any_of(all, [](const auto& one) { return one.peak_rss.has_value(); });
  const bool intervals = std::ranges::any_of(all, [](const auto& one) { return one.interval.has_value(); });
  const bool contended = std::ranges::any_of(all, IsContended);
  // A row: an experiment, or a class of its runs.
  struct Of {
    const ReportExperiment& of;
    std::string label;
    const stats::Distribution& latency;
  };
  std::vector<Of> rows;
  for (const ReportExperiment& one : all) {
    if (one.run_classes.empty()) rows.push_back({one, one.label, one.latency});
    for (const RunClass& of : one.run_classes)
      rows.push_back({one, fmt::format("{}, {}", one.label, of.name), of.latency});
  }
  using Latencies = stats::Distribution;
  // Nothing if there are too few runs for this statistic.
  const auto time = [](std::optional<double> Latencies::*of, std::int64_t least = 0) {
    return
        [=](const Of& one) { return one.latency.n >= least ? OptionalCell<Time>(one.latency.*of) : Cell(); };
  };
  Table table{
      .id = "report_latency", .title = "Latency", .level = Level::kBrief, .span = LatencySpan(report)};
  table.Fill<Of>(
      {{Left("experiment", "Latency").WithKeptPart(kVariant), &Of::label},
       {Right("median"), time(&Latencies::p50)},
       {Left("interval", "95% CI")
            .WithDropPriority(9)
            .WithLevel(pairs && !contended ? Level::kPage : Level::kUsual),
        [&](const Of& one) {
          return IsContended(one.of) ? Cell("contended")
                 : one.of.interval   ? Cell(TimeBounds{one.of.interval->low, one.of.interval->high})
                 : intervals         ? Cell()
                                     : Cell("");  // "" everywhere hides the column
        }},
       {page("mean", "mean", 8), time(&Latencies::mean)},
       {page("p90", "p90", 7), time(&Latencies::p90, stats::kMinValuesForP90)},
       {p99 ? Right("p99") : page("p99", "p99", 6), time(&Latencies::p99, stats::kMinValuesForP99)},
       {page("min", "min", 5), time(&Latencies::min)},
       {p99 ? page("max", "max", 6) : Right("max"), time(&Latencies::max)},
       {page("sd", "sd", 3), time(&Latencies::sd)},
       {page("cv", "CV", 4), [](const Of& one) { return OptionalCell<Share>(one.latency.cv); }},
       {Right("runs"), [](const Of& one) { return Count{one.latency.n}; }},
       {page("outliers", "outliers", 2), [](const Of& one) { return Count{one.latency.outliers}; }},
       {page("first_inference", "first inference", 1),
        [](const Of& one) { return OptionalCell<Time>(one.of.first_run); }},
       {page("load", "load", 1), [](const Of& one) { return OptionalCell<Time>(one.of.load); }},
       {page("peak_memory", "peak memory", 1),
        [](const Of& one) { return OptionalCell<Size>(one.of.peak_rss); }, memory}},
      rows);
  std::vector<Section> sections = {{"", report.ladder ? Level::kPage : Level::kBrief, {std::move(table)}}};
  for (const LatencyPlot& plot : report.latency_plots) {
    Distributions distributions{plot.histogram.from, plot.histogram.width, {}};
    for (std::size_t i = 0; i < plot.experiments.size(); ++i) {
      const ReportExperiment& experiment = all[plot.experiments[i]];
      distributions.series.push_back({experiment.label, plot.histogram.counts[i], plot.histogram.beyond[i],
                                      experiment.latency.p50, experiment.latency.max});
    }
    sections.push_back({"", Level::kPage, {std::move(distributions)}});
  }
  return sections;
}

std::vector<Section> MakeStartupSections(const Report& report) {
  if (report.ladder) return {};
  std::vector<Section> sections;
  for (const ReportComparison& pair : report.comparisons) {
    const Comparison& comparison = pair.comparison;
    const bool brief = &pair == MostChangedPair(report) && !HasReleaseTable(report);
    Section section{"", brief ? Level::kBrief : Level::kPage};
    section.AddUnlessEmpty(Paragraph{FactorsText(pair)});
    for (const Insight& insight : report.insights) {
      if (insight.kind() == finding::Fp16ComputedAsFp32::kKind && insight.experiment == pair.candidate)
        section.parts.emplace_back(Paragraph{MakeFindingTexts(report, insight).text});
    }
    Table table{"startup",
                "Startup and memory" + TitleSuffix(report, pair),
                {Left("name", "Startup & memory"), VariantColumn("baseline", comparison.baseline_label),
                 VariantColumn("candidate", comparison.candidate_label), Right("change"),
                 Left("interval", "95% CI").WithDropPriority(1).WithLevel(Level::kPage)}};
    table.units_by_row = true;
    const auto add = [&]<typename Of>(const char* name, const StartupCost& cost, Of) {
      if (cost.baseline && cost.candidate) {
        table.rows.push_back({name, Of{*cost.baseline}, Of{*cost.candidate}, KnownTextCell(CostVerdict(cost)),
                              CostInterval(cost)});
      }
    };
    add("Load", pair.costs.load, Duration(0));
    add("First inference", pair.costs.first_run, Duration(0));
    add(pair.releases ? "Peak memory since load" : "Peak memory", pair.costs.peak_memory, Size(0));
    section.AddUnlessEmpty(std::move(table));
    if (pair.outputs) {
      section.parts.emplace_back(Paragraph{fmt::format("Outputs of {} and {}: {}.", comparison.baseline_label,
                                                       comparison.candidate_label, TextOf(*pair.outputs)),
                                           pair.releases ? Level::kUsual : Level::kPage});
    }
    sections.push_back(std::move(section));
  }
  Section expected{"", Level::kBrief};
  for (const ExperimentData& data : report.run.experiments) {
    if (!data.from_expected) continue;
    expected.parts.emplace_back(Paragraph{fmt::format(
        "Outputs{} and those that the bundled program expects: {}.",
        report.run.experiments.size() == 1 ? "" : " of " + data.label, TextOf(*data.from_expected))});
  }
  if (!expected.parts.empty()) sections.push_back(std::move(expected));
  return sections;
}

std::vector<Section> MakeSelfTimeSections(const Report& report) {
  if (report.ladder) return {};
  std::vector<Section> sections;
  for (const ReportComparison& pair : report.comparisons) {
    const ReportExperiment &baseline = report.experiments[pair.baseline],
                           &candidate = report.experiments[pair.candidate];
    if (!HasTimes(baseline) || !HasTimes(candidate)) continue;
    const Comparison& comparison = pair.comparison;
    const bool usual = &pair == MostChangedPair(report) &&
                       !(IsInMatrix(report, pair.baseline) && IsInMatrix(report, pair.candidate));
    AddSelfTimes(report, {baseline, &candidate, &comparison.latency}, MakeSelfTimes(comparison),
                 TitleSuffix(report, pair), usual, sections);
  }
  if (report.comparisons.empty() && report.matrices.empty() && report.experiments.size() > 1)
    sections.push_back(MakeSideBySideSection(report));
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const ReportExperiment& experiment = report.experiments[i];
    if (IsInPair(report, i) || !HasTimes(experiment)) continue;
    AddSelfTimes(report, {experiment}, MakeSelfTimes(experiment.groups), TitleSuffix(report, experiment),
                 IsOnlyShownExperiment(report, i), sections);
  }
  return sections;
}

}  // namespace etprof::show
