#include <fmt/format.h>

#include <algorithm>

#include "say/run/report.h"
#include "say/run/report_parts.h"
#include "say/wording.h"

namespace etprof::say {
namespace {

constexpr double kWorthAGroupsRow = 0.02;  // of the whole: on a screen smaller groups are one row
constexpr auto kVariant = Table::Keep::kDifference;

// A row of a table of self times: a time of one variant, or of both.
struct SelfTime {
  std::string name;
  std::int64_t operators = 0;
  double before = 0, after = 0;  // mean, ns
  const Quantity* quantity = nullptr;
  Row::Role role = Row::Role::kPart;
  bool group = true;  // or several, with a share of the whole
};

// What a table of self times is of. `before` alone: one experiment.
struct Sides {
  const ReportExperiment& before;
  const ReportExperiment* after = nullptr;
  const Quantity* latency = nullptr;

  const ReportExperiment& Subject() const { return after != nullptr ? *after : before; }
  std::string TracerRow() const {
    const std::string name = TracerRowName(before);
    return after != nullptr && name == kTracingOverhead ? TracerRowName(*after) : name;
  }
  bool Disturbed() const {
    return before.TablesAreDisturbed() || (after != nullptr && after->TablesAreDisturbed());
  }
};

double WholeOf(const ReportExperiment& experiment) { return experiment.MeanExecute().value_or(0); }

bool IsSmall(const SelfTime& of, const Sides& sides) {
  return of.before < kWorthAGroupsRow * WholeOf(sides.before) &&
         (sides.after == nullptr || of.after < kWorthAGroupsRow * WholeOf(*sides.after));
}

// By falling time; the small ones are one row of a screen, then the sums down to the median latency.
std::vector<SelfTime> RowsOf(const Sides& sides, std::vector<SelfTime> times) {
  const bool pair = sides.after != nullptr;
  std::erase_if(times, [](const SelfTime& of) { return of.before == 0 && of.after == 0; });
  std::ranges::stable_sort(times, std::greater(), pair ? &SelfTime::after : &SelfTime::before);
  const auto is_small = [&](const SelfTime& of) { return IsSmall(of, sides); };
  const auto small = std::ranges::count_if(times, is_small);
  const bool has_other = std::ranges::any_of(
      times, [&](const SelfTime& of) { return of.name == GroupName(Group::kOther) && !is_small(of); });
  SelfTime rest{has_other ? fmt::format("{} smaller groups", small)
                          : fmt::format("Other ({} groups)", small)};
  rest.role = Row::Role::kRest;
  SelfTime whole{.name = kTracedTotal, .role = Row::Role::kSum, .group = false};
  for (const SelfTime& of : times) {
    whole.before += of.before;
    whole.after += of.after;
    if (!is_small(of)) continue;
    rest.before += of.before;
    rest.after += of.after;
  }
  if (small >= 2) times.push_back(rest);
  times.push_back(whole);
  const bool known = sides.before.tracer && (!pair || sides.after->tracer);
  if (known) {
    times.push_back({.name = sides.TracerRow(),
                     .before = *sides.before.tracer,
                     .after = pair ? *sides.after->tracer : 0,
                     .group = false});
  }
  if (sides.before.latency.p50 && (!pair || sides.after->latency.p50)) {
    times.push_back({.name = "Median latency",
                     .before = *sides.before.latency.p50,
                     .after = pair ? *sides.after->latency.p50 : 0,
                     .quantity = sides.latency,
                     .role = known ? Row::Role::kSum : Row::Role::kPlain,
                     .group = false});
  }
  return times;
}

// Both variants where there are two: time, share, time, saved, speedup, interval, share.
Table SelfTimesOf(const Report& report, const Sides& sides, const std::vector<SelfTime>& times) {
  using Of = SelfTime;
  const bool pair = sides.after != nullptr;
  const auto before = [](const Of& of) { return Time{of.before}; };
  const auto is_compared = [](const Of& of) { return of.group && of.quantity != nullptr; };
  Table table{.id = "self_times", .span = SpanOfLatencies(report)};
  table.Fill<Of>(
      {{Left("name", "Self time"), &Of::name},
       {Right("operators").Goes(1).At(Level::kPage),
        [](const Of& of) { return of.operators > 0 ? Cell(Count{of.operators}) : Cell(""); }, !pair},
       {Right("mean"), before, !pair},
       {VariantColumn("baseline", sides.before.label), before, pair},
       {Right("baseline_share", "% of baseline").Goes(2).At(Level::kPage),
        [&](const Of& of) { return is_compared(of) ? ShareOf(of.before, WholeOf(sides.before)) : Cell(""); },
        pair},
       {VariantColumn("candidate", sides.Subject().label), [](const Of& of) { return Time{of.after}; }, pair},
       {Right("saved").Goes(1).At(Level::kPage),
        [&](const Of& of) { return is_compared(of) ? Cell(Time{of.before - of.after}) : Cell(""); }, pair},
       {Right("speedup"),
        [&](const Of& of) {
          Cell speedup = OrBlank<Speedup>(of.quantity);
          if (of.role == Row::Role::kPart && IsSmall(of, sides)) speedup.level = Level::kPage;
          return speedup;
        },
        pair},
       {Left("interval", "95% CI").Goes(3).At(Level::kPage),
        [](const Of& of) { return OrBlank<Interval>(of.quantity); }, pair},
       {Right("share", "% of total").Goes(4).Bars(),
        [&](const Of& of) {
          return of.group ? ShareOf(pair ? of.after : of.before, WholeOf(sides.Subject())) : Cell("");
        }}},
      times);
  const bool has_rest = std::ranges::find(times, Row::Role::kRest, &Of::role) != times.end();
  for (std::size_t i = 0; i < times.size(); ++i) {
    table.rows[i].role = times[i].role;
    if (has_rest && times[i].group && times[i].role == Row::Role::kPart && IsSmall(times[i], sides))
      table.rows[i].level = Level::kPage;
  }
  return table;
}

std::vector<SelfTime> TimesOf(const Comparison& comparison) {
  std::vector<SelfTime> times;
  for (const DeltaRow& row : comparison.groups) {
    times.push_back({row.name, 0, MeanOf(row.baseline_total, comparison.baseline_runs),
                     MeanOf(row.candidate_total, comparison.candidate_runs), &row.quantity});
  }
  return times;
}

std::vector<SelfTime> TimesOf(const Breakdown& breakdown) {
  std::vector<SelfTime> times;
  for (const AdditiveRow& row : breakdown.rows)
    times.push_back({row.name, row.operators, MeanOf(row.total, breakdown.runs)});
  return times;
}

std::string LegendOf(const Sides& sides) {
  std::string runs = std::to_string(sides.before.common_runs);
  if (sides.after != nullptr) runs += " and " + std::to_string(sides.after->common_runs);
  return fmt::format(
      "Means over {} traced steady runs within Tukey's fences. Each column adds up as printed: \"{}\" leads "
      "from the traced total to the median latency. \"same\": no difference larger than the margin. \"—\": "
      "inconclusive.",
      runs, sides.TracerRow());
}

void AddSelfTimes(const Report& report, const Sides& sides, std::vector<SelfTime> groups,
                  const std::string& suffix, bool usual, std::vector<Section>& sections) {
  Table table = SelfTimesOf(report, sides, RowsOf(sides, std::move(groups)));
  table.title = "Self time by group" + suffix;
  sections.push_back({"",
                      usual && !sides.Disturbed() ? Level::kBrief : Level::kPage,
                      {std::move(table), Paragraph{LegendOf(sides), Level::kPage}}});
}

// A column each.
Section SideBySide(const Report& report) {
  Table table{"side_by_side", "Self time side by side", {Left("name", "Self time")}};
  table.span = SpanOfLatencies(report);
  std::vector<const ReportExperiment*> sides;
  for (const ReportExperiment& experiment : report.experiments) {
    if (!HasTimes(experiment)) continue;
    sides.push_back(&experiment);
    table.columns.push_back(VariantColumn(experiment.label, experiment.label));
  }
  if (sides.empty()) return {};
  // The last ones are left out first.
  for (std::size_t i = 1; i < table.columns.size(); ++i)
    table.columns[i].goes = static_cast<int>(table.columns.size() - i);
  const auto add = [&](const std::string& name, Row::Role role, const auto& value) {
    std::vector<Cell> cells = {name};
    for (const ReportExperiment* const side : sides) cells.push_back(value(*side));
    table.rows.push_back({std::move(cells), role});
  };
  const std::vector<AdditiveRow>& groups = sides.front()->groups.rows;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (std::ranges::any_of(sides, [&](const auto* side) { return side->groups.rows[i].total != 0; }))
      order.push_back(i);
  }
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return groups[i].total; });
  for (const std::size_t i : order) {
    add(groups[i].name, Row::Role::kPart, [&](const ReportExperiment& side) {
      return Cell(Time{MeanOf(side.groups.rows[i].total, side.groups.runs)});
    });
  }
  add(kTracedTotal, Row::Role::kSum,
      [](const ReportExperiment& side) { return Maybe<Time>(side.MeanExecute()); });
  add(TracerRowName(*sides.front()), Row::Role::kPart,
      [](const ReportExperiment& side) { return Maybe<Time>(side.tracer); });
  if (std::ranges::any_of(sides, [](const auto* side) { return side->run_classes.empty(); })) {
    add("Median latency", Row::Role::kSum,
        [](const ReportExperiment& side) { return Maybe<Time>(side.latency.p50); });
  }
  return {"", Level::kUsual, {std::move(table)}};
}

std::string TextOf(const OutputDifference& of) {
  if (of.equal) return "equal bit for bit";
  if (of.largest_absolute && of.largest_relative)
    return fmt::format("at most {:.2g} apart (relative {:.2g})", *of.largest_absolute, *of.largest_relative);
  return of.note.empty() ? "different" : of.note;
}

}  // namespace

std::vector<Section> SayLatencies(const Report& report) {
  if (report.experiments.empty()) return {};
  const auto& all = report.experiments;
  const bool p99 =
      std::ranges::all_of(all, [](const auto& one) { return one.latency.n >= stats::kLeastForP99; });
  const bool pairs = !report.comparisons.empty();  // then a screen has the intervals of these
  const auto page = [](const char* id, const char* title, int goes) {
    return Right(id, title).Goes(goes).At(Level::kPage);
  };
  const bool memory = std::ranges::any_of(all, [](const auto& one) { return one.peak_rss.has_value(); });
  const bool intervals = std::ranges::any_of(all, [](const auto& one) { return one.interval.has_value(); });
  // An experiment, or a class of its runs.
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
  // Nothing where so few runs do not show it.
  const auto time = [](std::optional<double> Latencies::*of, std::int64_t least = 0) {
    return [=](const Of& one) { return one.latency.n >= least ? Maybe<Time>(one.latency.*of) : Cell(); };
  };
  Table table{
      .id = "report_latency", .title = "Latency", .level = Level::kBrief, .span = SpanOfLatencies(report)};
  table.Fill<Of>(
      {{Left("experiment", "Latency").Keeps(kVariant), &Of::label},
       {Right("median"), time(&Latencies::p50)},
       {Left("interval", "95% CI").Goes(9).At(pairs ? Level::kPage : Level::kUsual),
        [&](const Of& one) {
          return one.of.interval ? Cell(TimeBounds{one.of.interval->low, one.of.interval->high})
                 : intervals     ? Cell()
                                 : Cell("");  // no column without any
        }},
       {page("mean", "mean", 8), time(&Latencies::mean)},
       {page("p90", "p90", 7), time(&Latencies::p90, stats::kLeastForP90)},
       {p99 ? Right("p99") : page("p99", "p99", 6), time(&Latencies::p99, stats::kLeastForP99)},
       {page("min", "min", 5), time(&Latencies::min)},
       {p99 ? page("max", "max", 6) : Right("max"), time(&Latencies::max)},
       {page("sd", "sd", 3), time(&Latencies::sd)},
       {page("cv", "CV", 4), [](const Of& one) { return Maybe<Share>(one.latency.cv); }},
       {Right("runs"), [](const Of& one) { return Count{one.latency.n}; }},
       {page("outliers", "outliers", 2), [](const Of& one) { return Count{one.latency.outliers}; }},
       {page("first_inference", "first inference", 1),
        [](const Of& one) { return Maybe<Time>(one.of.first_run); }},
       {page("load", "load", 1), [](const Of& one) { return Maybe<Time>(one.of.load); }},
       {page("peak_memory", "peak memory", 1), [](const Of& one) { return Maybe<Size>(one.of.peak_rss); },
        memory}},
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

std::vector<Section> SayStartup(const Report& report) {
  if (report.ladder) return {};
  std::vector<Section> sections;
  for (const ReportComparison& pair : report.comparisons) {
    const Comparison& comparison = pair.comparison;
    Section section{"", &pair == LeadingPair(report) ? Level::kBrief : Level::kPage};
    section.AddUnlessEmpty(Paragraph{FactorsText(pair)});
    Table table{"startup",
                "Startup and memory" + TitleSuffix(report, pair),
                {Left("name", "Startup & memory"), VariantColumn("baseline", comparison.baseline_label),
                 VariantColumn("candidate", comparison.candidate_label), Right("change"),
                 Left("interval", "95% CI").Goes(1).At(Level::kPage)}};
    table.units_by_row = true;
    const auto add = [&]<typename Of>(const char* name, const SideCost& cost, Of) {
      if (cost.baseline && cost.candidate) {
        table.rows.push_back(
            {name, Of{*cost.baseline}, Of{*cost.candidate}, Known(CostVerdict(cost)), CostInterval(cost)});
      }
    };
    add("Load", pair.costs.load, Duration());
    add("First inference", pair.costs.first_run, Duration());
    add("Peak memory", pair.costs.peak_memory, Size(0));
    section.AddUnlessEmpty(std::move(table));
    if (pair.outputs) {
      section.parts.emplace_back(Paragraph{fmt::format("Outputs of {} and {}: {}.", comparison.baseline_label,
                                                       comparison.candidate_label, TextOf(*pair.outputs)),
                                           Level::kPage});
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

std::vector<Section> SaySelfTimes(const Report& report) {
  if (report.ladder) return {};
  std::vector<Section> sections;
  for (const ReportComparison& pair : report.comparisons) {
    const ReportExperiment &before = report.experiments[pair.baseline],
                           &after = report.experiments[pair.candidate];
    if (!HasTimes(before) || !HasTimes(after)) continue;
    const Comparison& comparison = pair.comparison;
    const bool usual = &pair == LeadingPair(report) &&
                       !(InMatrix(report, pair.baseline) && InMatrix(report, pair.candidate));
    AddSelfTimes(report, {before, &after, &comparison.latency}, TimesOf(comparison),
                 TitleSuffix(report, pair), usual, sections);
  }
  if (report.comparisons.empty() && report.matrices.empty() && report.experiments.size() > 1)
    sections.push_back(SideBySide(report));
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const ReportExperiment& experiment = report.experiments[i];
    if (InPair(report, i) || !HasTimes(experiment)) continue;
    AddSelfTimes(report, {experiment}, TimesOf(experiment.groups), TitleSuffix(report, experiment),
                 IsAlone(report, i), sections);
  }
  return sections;
}

}  // namespace etprof::say
