#include <fmt/format.h>

#include <algorithm>

#include "report/findings/traced.h"
#include "show/subjects/run/report.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr double kMinGroupShare = 0.02;  // share of the whole below which a screen merges groups into one row

// A row of a table of self times, for one variant or both.
struct SelfTime {
  std::string name;
  std::int64_t operators = 0;
  double baseline = 0, candidate = 0;  // mean, ns
  const TimeComparison* time_comparison = nullptr;
  Row::Role role = Row::Role::kPart;
  bool is_group = true;  // the row is one or more groups, whose share of the whole is shown
};

// The experiments in a table of self times: a pair, or only `baseline`.
struct Variants {
  const ReportExperiment& baseline;
  const ReportExperiment* candidate = nullptr;
  const TimeComparison* latency = nullptr;

  const ReportExperiment& Subject() const { return candidate != nullptr ? *candidate : baseline; }
  bool HasTracer() const { return baseline.tracer && (candidate == nullptr || candidate->tracer); }
  std::string TracerRow() const {
    const std::string name = TracerRowName(baseline);
    return candidate != nullptr && name == kTracingOverhead ? TracerRowName(*candidate) : name;
  }
  bool AreDisturbed() const {
    return baseline.TablesAreDisturbed() || (candidate != nullptr && candidate->TablesAreDisturbed());
  }
  // Tracing takes a large part of very short runs. A screen, which has no space for the explanation, then
  // leaves these times out: a finding states the difference between traced and untraced times.
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

bool IsSmall(const SelfTime& time, const Variants& variants) {
  return time.baseline < kMinGroupShare * TotalTime(variants.baseline) &&
         (variants.candidate == nullptr || time.candidate < kMinGroupShare * TotalTime(*variants.candidate));
}

// Rows by decreasing time, then the sums down to the median latency. A screen merges small rows into a single
// row.
std::vector<SelfTime> MakeSelfTimeRows(const Variants& variants, std::vector<SelfTime> times) {
  const bool pair = variants.candidate != nullptr;
  std::erase_if(times, [](const SelfTime& time) { return time.baseline == 0 && time.candidate == 0; });
  std::ranges::stable_sort(times, std::greater(), pair ? &SelfTime::candidate : &SelfTime::baseline);
  const auto is_small = [&](const SelfTime& time) { return IsSmall(time, variants); };
  const auto small_count = std::ranges::count_if(times, is_small);
  const bool has_other = std::ranges::any_of(times, [&](const SelfTime& time) {
    return time.name == OperatorGroupName(OperatorGroup::kOther) && !is_small(time);
  });
  SelfTime small_groups{has_other ? fmt::format("{} smaller groups", small_count)
                                  : fmt::format("Other ({} groups)", small_count)};
  small_groups.role = Row::Role::kScreenOnly;
  SelfTime total{.name = kTracedTotal, .role = Row::Role::kSum, .is_group = false};
  for (const SelfTime& time : times) {
    total.baseline += time.baseline;
    total.candidate += time.candidate;
    if (!is_small(time)) continue;
    small_groups.baseline += time.baseline;
    small_groups.candidate += time.candidate;
  }
  if (small_count >= 2) times.push_back(small_groups);
  times.push_back(total);
  const bool has_tracer = variants.HasTracer();
  if (has_tracer) {
    times.push_back({.name = variants.TracerRow(),
                     .baseline = *variants.baseline.tracer,
                     .candidate = pair ? *variants.candidate->tracer : 0,
                     .is_group = false});
  }
  if (variants.baseline.latency.p50 && (!pair || variants.candidate->latency.p50)) {
    times.push_back({.name = "Median latency",
                     .baseline = *variants.baseline.latency.p50,
                     .candidate = pair ? *variants.candidate->latency.p50 : 0,
                     .time_comparison = variants.latency,
                     .role = has_tracer ? Row::Role::kSum : Row::Role::kPlain,
                     .is_group = false});
  }
  return times;
}

Table MakeSelfTimesTable(const Report& report, const Variants& variants, const std::vector<SelfTime>& times) {
  const bool pair = variants.candidate != nullptr;
  const auto baseline = [](const SelfTime& time) { return Time{time.baseline}; };
  const auto is_compared = [](const SelfTime& time) {
    return time.is_group && time.time_comparison != nullptr;
  };
  Table table{.id = "self_times", .time_range = LatencyRange(report)};
  table.Fill<SelfTime>(
      {{Left("name", "Self time"), &SelfTime::name},
       {Right("operators").WithDropPriority(1).WithVisibility(Visibility::kPage),
        [](const SelfTime& time) { return time.operators > 0 ? Cell(Count{time.operators}) : Cell(""); },
        !pair},
       {Right("mean"), baseline, !pair},
       {VariantColumn("baseline", variants.baseline.label), baseline, pair},
       {Right("baseline_share", "% of baseline").WithDropPriority(2).WithVisibility(Visibility::kPage),
        [&](const SelfTime& time) {
          return is_compared(time) ? ShareCell(time.baseline, TotalTime(variants.baseline)) : Cell("");
        },
        pair},
       {VariantColumn("candidate", variants.Subject().label),
        [](const SelfTime& time) { return Time{time.candidate}; }, pair},
       {Right("saved").WithDropPriority(1).WithVisibility(Visibility::kPage),
        [&](const SelfTime& time) {
          return is_compared(time) ? Cell(Time{time.baseline - time.candidate}) : Cell("");
        },
        pair},
       {Right("speedup"),
        [&](const SelfTime& time) {
          Cell speedup = CellOrBlank<Speedup>(time.time_comparison);
          if (time.role == Row::Role::kPart && IsSmall(time, variants))
            speedup.visibility = Visibility::kPage;
          return speedup;
        },
        pair},
       {Left("interval", "95% CI").WithDropPriority(3).WithVisibility(Visibility::kPage),
        [](const SelfTime& time) { return CellOrBlank<Interval>(time.time_comparison); }, pair},
       {Right("share", "% of total").WithDropPriority(4).WithBars(),
        [&](const SelfTime& time) {
          return time.is_group
                     ? ShareCell(pair ? time.candidate : time.baseline, TotalTime(variants.Subject()))
                     : Cell("");
        }}},
      times);
  const bool has_rest = std::ranges::find(times, Row::Role::kScreenOnly, &SelfTime::role) != times.end();
  for (std::size_t i = 0; i < times.size(); ++i) {
    table.rows[i].role = times[i].role;
    if (has_rest && times[i].is_group && times[i].role == Row::Role::kPart && IsSmall(times[i], variants))
      table.rows[i].visibility = Visibility::kPage;
  }
  return table;
}

std::vector<SelfTime> MakeSelfTimes(const Comparison& comparison) {
  std::vector<SelfTime> times;
  for (const DeltaRow& row : comparison.groups) {
    times.push_back({row.name, 0, MeanPerRun(row.baseline_total, comparison.baseline_runs),
                     MeanPerRun(row.candidate_total, comparison.candidate_runs), &row.time_comparison});
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
  const auto steady = [](const ReportExperiment& experiment) {
    return experiment.steady_runs > 0 ? "traced steady run" : "traced run";
  };
  std::string runs = CountedText(variants.baseline.common_runs, steady(variants.baseline));
  if (variants.candidate != nullptr)
    runs = fmt::format("{} and {}", variants.baseline.common_runs,
                       CountedText(variants.candidate->common_runs, steady(*variants.candidate)));
  std::string text = fmt::format(
      "Means over {} within Tukey's fences{}. Each column adds up as printed, so last digits may differ by "
      "one from the same times elsewhere.",
      runs, variants.baseline.run_classes.empty() ? "" : " of their class");
  if (variants.HasTracer())
    text += fmt::format(" \"{}\" leads from the traced total to the median latency.", variants.TracerRow());
  if (variants.candidate == nullptr) return text;
  return AddUndefinedText(text + " \"same\": no difference larger than the margin.", report);
}

void AddSelfTimes(const Report& report, const Variants& variants, std::vector<SelfTime> groups,
                  const std::string& suffix, bool on_screen, std::vector<Section>& sections) {
  Table table = MakeSelfTimesTable(report, variants, MakeSelfTimeRows(variants, std::move(groups)));
  table.title = "Self time by group" + suffix;
  if (variants.AreDisturbed()) table.columns.front().title = "Self time, contended";
  sections.push_back({"",
                      on_screen && !variants.AreDistortedByTracing() ? Visibility::kBrief : Visibility::kPage,
                      {std::move(table), Paragraph{LegendText(report, variants), Visibility::kPage}}});
}

// Self times of all experiments, with a column for each experiment.
Section MakeSideBySideSection(const Report& report) {
  Table table{"side_by_side", "Self time side by side", {Left("name", "Self time")}};
  table.time_range = LatencyRange(report);
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
    Row& row = table.AddRow(name);
    row.role = role;
    for (const ReportExperiment* const variant : variants) row.Add(value(*variant));
  };
  const std::vector<AdditiveRow>& groups = variants.front()->groups.rows;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (std::ranges::any_of(variants,
                            [&](const auto* variant) { return variant->groups.rows[i].total != 0; }))
      order.push_back(i);
  }
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return groups[i].total; });
  for (const std::size_t i : order) {
    add(groups[i].name, Row::Role::kPart, [&](const ReportExperiment& variant) {
      return Cell(Time{MeanPerRun(variant.groups.rows[i].total, variant.groups.runs)});
    });
  }
  add(kTracedTotal, Row::Role::kSum,
      [](const ReportExperiment& variant) { return OptionalCell<Time>(variant.MeanExecute()); });
  add(TracerRowName(*variants.front()), Row::Role::kPart,
      [](const ReportExperiment& variant) { return OptionalCell<Time>(variant.tracer); });
  if (std::ranges::any_of(variants, [](const auto* variant) { return variant->run_classes.empty(); })) {
    add("Median latency", Row::Role::kSum,
        [](const ReportExperiment& variant) { return OptionalCell<Time>(variant.latency.p50); });
  }
  return {"", {std::move(table)}};
}

// Self times in each class of runs, by group and by operator.
Section MakeClassesSection(const Report& report, const ReportExperiment& experiment, bool on_screen) {
  const std::vector<RunClass>& classes = experiment.run_classes;
  std::size_t num_columns = 0;  // the same in the tables of all experiments
  for (const ReportExperiment& other : report.experiments)
    num_columns = std::max(num_columns, other.run_classes.size());
  const auto make_table = [&](const char* id, const std::string& title, Table::Column names) {
    Table table{id, title + TitleSuffix(report, experiment), {std::move(names)}};
    for (std::size_t i = 0; i < num_columns; ++i)
      table.columns.push_back(
          Right(fmt::format("class_{}", i + 1), i < classes.size() ? classes[i].name : ""));
    return table;
  };
  const auto add_row = [&](Table& table, std::string name, Row::Role role, const auto& total) {
    Row& row = table.AddRow(std::move(name));
    row.role = role;
    for (std::size_t i = 0; i < num_columns; ++i) {
      const std::optional<Nanoseconds> ns = i < classes.size() ? total(classes[i]) : std::nullopt;
      row.Add(ns ? Cell(Time{MeanPerRun(*ns, classes[i].groups.runs)}) : Cell(""));
    }
  };
  Table groups = make_table("self_times_by_class", "Self time by class of runs", Left("name", "Self time"));
  groups.time_range = LatencyRange(report);
  std::vector<std::size_t> order = IndicesWhere(experiment.groups.rows, &AdditiveRow::total);
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::size_t i) { return experiment.groups.rows[i].total; });
  for (const std::size_t i : order)
    add_row(groups, experiment.groups.rows[i].name, Row::Role::kPart,
            [&](const RunClass& run_class) { return std::optional(run_class.groups.rows[i].total); });
  add_row(groups, kTracedTotal, Row::Role::kSum,
          [](const RunClass& run_class) { return std::optional(run_class.groups.total); });

  Table operators =
      make_table("operators_by_class", "Operators by class of runs", NameColumn("operator", "Operator"));
  operators.screen_rows = 5;
  operators.hidden_rows_hint = "in `--csv=operators_by_class`";
  const OperatorNames names(*experiment.profile);
  for (const OperatorRow& row : experiment.operators) {
    const auto self = experiment.profile->Self(row.op);
    add_row(operators, names.FullName(row.op), Row::Role::kPlain, [&](const RunClass& run_class) {
      const bool ran = std::ranges::any_of(run_class.common_runs,
                                           [&](std::size_t run) { return self[run] != Profile::kAbsent; });
      return ran ? std::optional(SumSelf(*experiment.profile, row.op, run_class.common_runs)) : std::nullopt;
    });
  }
  return {"",
          on_screen ? Visibility::kBrief : Visibility::kPage,
          {std::move(groups), std::move(operators),
           Paragraph{"Means over the runs of a class, less those outside Tukey's fences of the class.",
                     Visibility::kPage}}};
}

// True if the experiment has a single latency, and disturbed runs determine it.
bool IsContended(const ReportExperiment& experiment) {
  return experiment.run_classes.empty() && experiment.LatencyIsDisturbed();
}

std::string ToText(const OutputDifference& difference) {
  if (difference.equal) return "equal bit for bit";
  if (difference.largest_absolute && difference.largest_relative)
    return fmt::format("at most {:.2g} apart (relative {:.2g})", *difference.largest_absolute,
                       *difference.largest_relative);
  return difference.note.empty() ? "different" : difference.note;
}

}  // namespace

std::vector<Section> MakeLatencySections(const Report& report) {
  if (report.experiments.empty()) return {};
  const auto& experiments = report.experiments;
  const bool has_p99 = std::ranges::all_of(
      experiments, [](const auto& experiment) { return experiment.latency.n >= stats::kMinValuesForP99; });
  const bool has_pairs = !report.comparisons.empty();  // a screen then shows the intervals of the pairs
  const auto page_column = [](const char* id, const char* title, int drop_priority) {
    return Right(id, title).WithDropPriority(drop_priority).WithVisibility(Visibility::kPage);
  };
  const bool has_memory = std::ranges::any_of(
      experiments, [](const auto& experiment) { return experiment.peak_rss.has_value(); });
  const bool has_intervals = std::ranges::any_of(
      experiments, [](const auto& experiment) { return experiment.interval.has_value(); });
  const bool any_contended = std::ranges::any_of(experiments, IsContended);
  // A row of the table: an experiment, or a class of its runs.
  struct LatencyTableRow {
    const ReportExperiment& experiment;
    std::string label;
    const stats::Distribution& latency;
  };
  std::vector<LatencyTableRow> rows;
  for (const ReportExperiment& experiment : experiments) {
    if (experiment.run_classes.empty()) rows.push_back({experiment, experiment.label, experiment.latency});
    for (const RunClass& run_class : experiment.run_classes)
      rows.push_back(
          {experiment, fmt::format("{}, {}", experiment.label, run_class.name), run_class.latency});
  }
  using Latencies = stats::Distribution;
  // Nothing if there are too few runs for this statistic.
  const auto time = [](std::optional<double> Latencies::*statistic, std::int64_t min_runs = 0) {
    return [=](const LatencyTableRow& row) {
      return row.latency.n >= min_runs ? OptionalCell<Time>(row.latency.*statistic) : Cell();
    };
  };
  Table table{.id = "report_latency",
              .title = "Latency",
              .visibility = Visibility::kBrief,
              .time_range = LatencyRange(report)};
  table.Fill<LatencyTableRow>(
      {{Left("experiment", "Latency").WithDifferenceKept(), &LatencyTableRow::label},
       {Right("median"), time(&Latencies::p50)},
       {Left("interval", "95% CI")
            .WithDropPriority(9)
            .WithVisibility(has_pairs && !any_contended ? Visibility::kPage : Visibility::kDefault),
        [&](const LatencyTableRow& row) {
          return IsContended(row.experiment) ? Cell("contended")
                 : has_intervals             ? MakeBoundsCell(row.experiment.interval)
                                             : Cell("");  // a column of "" is hidden
        }},
       {page_column("mean", "mean", 8), time(&Latencies::mean)},
       {page_column("p90", "p90", 7), time(&Latencies::p90, stats::kMinValuesForP90)},
       {has_p99 ? Right("p99") : page_column("p99", "p99", 6),
        time(&Latencies::p99, stats::kMinValuesForP99)},
       {page_column("min", "min", 5), time(&Latencies::min)},
       {has_p99 ? page_column("max", "max", 6) : Right("max"), time(&Latencies::max)},
       {page_column("sd", "sd", 3), time(&Latencies::sd)},
       {page_column("cv", "CV", 4),
        [](const LatencyTableRow& row) { return OptionalCell<Share>(row.latency.cv); }},
       {Right("runs"), [](const LatencyTableRow& row) { return Count{row.latency.n}; }},
       {page_column("outliers", "outliers", 2),
        [](const LatencyTableRow& row) { return Count{row.latency.outliers}; }},
       {page_column("first_inference", "first inference", 1),
        [](const LatencyTableRow& row) { return OptionalCell<Time>(row.experiment.first_run); }},
       {page_column("load", "load", 1),
        [](const LatencyTableRow& row) { return OptionalCell<Time>(row.experiment.load); }},
       {page_column("peak_memory", "peak memory", 1),
        [](const LatencyTableRow& row) { return OptionalCell<Size>(row.experiment.peak_rss); }, has_memory}},
      rows);
  std::vector<Section> sections = {
      {"", report.ladder ? Visibility::kPage : Visibility::kBrief, {std::move(table)}}};
  for (const LatencyPlot& plot : report.latency_plots) {
    Distributions distributions{plot.histogram.from, plot.histogram.width, {}};
    for (std::size_t i = 0; i < plot.experiments.size(); ++i) {
      const ReportExperiment& experiment = experiments[plot.experiments[i]];
      distributions.series.push_back({experiment.label, plot.histogram.counts[i],
                                      plot.histogram.above_axis[i], experiment.latency.p50,
                                      experiment.latency.max});
    }
    sections.push_back({"", Visibility::kPage, {std::move(distributions)}});
  }
  return sections;
}

std::vector<Section> MakeStartupSections(const Report& report) {
  if (report.ladder) return {};
  std::vector<Section> sections;
  for (const ReportComparison& pair : report.comparisons) {
    const Comparison& comparison = pair.comparison;
    const bool brief = &pair == MostChangedPair(report) && !HasReleaseTable(report);
    Section section{"", brief ? Visibility::kBrief : Visibility::kPage};
    section.AddText(FactorsText(pair));
    for (const Finding& finding : report.findings) {
      if (finding.kind() == finding::Fp16ComputedAsFp32::kKind && finding.experiment == pair.candidate)
        section.AddText(MakeFindingTexts(report, finding).text);
    }
    Table table{"startup",
                "Startup and memory" + TitleSuffix(report, pair),
                {Left("name", "Startup & memory"), VariantColumn("baseline", comparison.baseline_label),
                 VariantColumn("candidate", comparison.candidate_label), Right("change"),
                 Left("interval", "95% CI").WithDropPriority(1).WithVisibility(Visibility::kPage)}};
    table.units_by_row = true;
    const auto add = [&]<typename CostCell>(const char* name, const StartupCost& cost, CostCell) {
      if (cost.baseline && cost.candidate) {
        table.AddRow(name, CostCell{*cost.baseline}, CostCell{*cost.candidate},
                     KnownTextCell(CostChangeText(cost)), KnownTextCell(CostIntervalText(cost)));
      }
    };
    add("Load", pair.costs.load, Duration(0));
    add("First inference", pair.costs.first_run, Duration(0));
    add(pair.differs_in_release ? "Peak memory since load" : "Peak memory", pair.costs.peak_memory, Size(0));
    section.AddUnlessEmpty(std::move(table));
    if (pair.costs.load.estimate || pair.costs.first_run.estimate || pair.costs.peak_memory.estimate) {
      section.AddText(
          "With a 95% CI, the values are geometric means over the launches that both variants have. Findings "
          "and the table of latencies have medians over all launches.",
          Visibility::kPage);
    }
    if (pair.outputs) {
      section.AddText(fmt::format("Outputs of {} and {}: {}.", comparison.baseline_label,
                                  comparison.candidate_label, ToText(*pair.outputs)),
                      pair.differs_in_release ? Visibility::kDefault : Visibility::kPage);
    }
    sections.push_back(std::move(section));
  }
  Section expected{"", Visibility::kBrief};
  for (const ExperimentData& data : report.run.experiments) {
    if (!data.difference_from_expected) continue;
    expected.AddText(fmt::format("Outputs{} and those that the bundled program expects: {}.",
                                 report.run.experiments.size() == 1 ? "" : " of " + data.label,
                                 ToText(*data.difference_from_expected)));
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
    const bool on_screen = &pair == MostChangedPair(report) &&
                           !(IsInMatrix(report, pair.baseline) && IsInMatrix(report, pair.candidate));
    AddSelfTimes(report, {baseline, &candidate, &comparison.latency}, MakeSelfTimes(comparison),
                 TitleSuffix(report, pair), on_screen, sections);
  }
  if (report.comparisons.empty() && report.matrices.empty() && report.experiments.size() > 1)
    sections.push_back(MakeSideBySideSection(report));
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const ReportExperiment& experiment = report.experiments[i];
    if (IsInPair(report, i) || !HasTimes(experiment)) continue;
    const bool on_screen = IsOnlyShownExperiment(report, i), has_classes = !experiment.run_classes.empty();
    if (has_classes) sections.push_back(MakeClassesSection(report, experiment, on_screen));
    AddSelfTimes(report, {experiment}, MakeSelfTimes(experiment.groups), TitleSuffix(report, experiment),
                 on_screen && !has_classes, sections);
  }
  return sections;
}

}  // namespace etprof::show
