#include <fmt/format.h>

#include <algorithm>

#include "say/report.h"
#include "say/report_parts.h"
#include "say/wording.h"

namespace etprof::say {
namespace {

constexpr double kWorthAGroupsRow = 0.02;  // of the whole: on a screen smaller groups are one row
constexpr auto kVariant = Table::Keep::kDifference;

// A time of one variant, or of both.
struct SelfTime {
  std::string name;
  std::int64_t operators = 0;
  double before = 0, after = 0;  // mean, ns
  const Quantity* quantity = nullptr;
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

Cell ShareOf(double part, const ReportExperiment& whole) {
  const double all = whole.MeanExecute().value_or(0);
  return all > 0 ? Cell(Share{part / all}) : Cell();
}

// The columns of both variants where there are two: time, share, time, saved, speedup, interval, share.
std::vector<Table::Column> ColumnsOf(const Sides& sides) {
  std::vector<Table::Column> columns = {{"name", "Self time"}};
  const auto add = [&](Table::Column column) { columns.push_back(std::move(column)); };
  if (sides.after == nullptr) {
    add({.id = "operators", .title = "operators", .right = true, .goes = 1, .level = Level::kPage});
    add({"mean", "mean", true});
  } else {
    add({.id = "baseline", .title = sides.before.label, .right = true, .keep = kVariant});
    add({.id = "baseline_share", .title = "% of total", .right = true, .goes = 2, .level = Level::kPage});
    add({.id = "candidate", .title = sides.after->label, .right = true, .keep = kVariant});
    add({.id = "saved", .title = "saved", .right = true, .goes = 1, .level = Level::kPage});
    add({"speedup", "speedup", true});
    add({.id = "interval", .title = "95% CI", .goes = 3, .level = Level::kPage});
  }
  add({.id = "share", .title = "% of total", .right = true, .goes = 4, .bars = true});
  return columns;
}

Row RowOf(const Sides& sides, const SelfTime& of, Row::Role role) {
  const bool part = role == Row::Role::kPart;
  std::vector<Cell> cells = {of.name};
  if (sides.after == nullptr) {
    cells.push_back(of.operators > 0 ? Cell(Count{of.operators}) : Cell(""));
    cells.emplace_back(Time{of.before});
  } else {
    Cell speedup = of.quantity != nullptr ? Cell(Speedup{*of.quantity}) : Cell("");
    const auto small = [&](double time, const ReportExperiment& whole) {
      return time < kWorthAGroupsRow * whole.MeanExecute().value_or(0);
    };
    if (part && small(of.before, sides.before) && small(of.after, *sides.after)) speedup.level = Level::kPage;
    const bool group = role != Row::Role::kSum && of.quantity != nullptr;
    cells.emplace_back(Time{of.before});
    cells.push_back(group ? ShareOf(of.before, sides.before) : Cell(""));
    cells.emplace_back(Time{of.after});
    cells.push_back(group ? Cell(Time{of.before - of.after}) : Cell(""));
    cells.push_back(std::move(speedup));
    cells.push_back(of.quantity != nullptr ? Cell(Interval{*of.quantity}) : Cell(""));
  }
  const bool shares = role != Row::Role::kSum && of.name != kTracingOverhead;
  cells.push_back(shares ? ShareOf(sides.after != nullptr ? of.after : of.before, sides.Subject())
                         : Cell(""));
  return {std::move(cells), role};
}

// By falling time; the small ones are one row of a screen, then the sums down to the median latency.
Table SelfTimesOf(const Report& report, const Sides& sides, std::vector<SelfTime> times) {
  Table table{"self_times", "", ColumnsOf(sides)};
  table.span = SpanOfLatencies(report);
  const bool pair = sides.after != nullptr;
  std::erase_if(times, [](const SelfTime& of) { return of.before == 0 && of.after == 0; });
  std::ranges::stable_sort(times, std::greater(),
                           [&](const SelfTime& of) { return pair ? of.after : of.before; });
  const auto is_small = [&](const SelfTime& of) {
    const auto share = [](double time, const ReportExperiment& whole) {
      return time / std::max(1e-9, whole.MeanExecute().value_or(0));
    };
    return share(of.before, sides.before) < kWorthAGroupsRow &&
           (!pair || share(of.after, *sides.after) < kWorthAGroupsRow);
  };
  SelfTime rest, whole{kTracedTotal};
  std::int64_t small = std::ranges::count_if(times, is_small);
  for (const SelfTime& of : times) {
    table.rows.push_back(RowOf(sides, of, Row::Role::kPart));
    whole.before += of.before;
    whole.after += of.after;
    if (small < 2 || !is_small(of)) continue;
    table.rows.back().level = Level::kPage;
    rest.before += of.before;
    rest.after += of.after;
  }
  if (small >= 2) {
    const bool has_other = std::ranges::any_of(
        times, [&](const SelfTime& of) { return of.name == GroupName(Group::kOther) && !is_small(of); });
    rest.name = has_other ? fmt::format("{} smaller groups", small) : fmt::format("Other ({} groups)", small);
    table.rows.push_back(RowOf(sides, rest, Row::Role::kRest));
  }
  table.rows.push_back(RowOf(sides, whole, Row::Role::kSum));
  SelfTime median{"Median latency", 0, sides.before.latency.p50.value_or(0),
                  pair ? sides.after->latency.p50.value_or(0) : 0, sides.latency};
  const bool known = sides.before.tracer && (!pair || sides.after->tracer);
  if (known) {
    const SelfTime tracer{kTracingOverhead, 0, *sides.before.tracer, pair ? *sides.after->tracer : 0};
    table.rows.push_back(RowOf(sides, tracer, Row::Role::kPart));
    table.rows.back().cells.front() = sides.TracerRow();
  }
  if (sides.before.latency.p50 && (!pair || sides.after->latency.p50)) {
    table.rows.push_back(RowOf(sides, median, Row::Role::kSum));
    if (!known) table.rows.back().role = Row::Role::kPlain;
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
  Table table = SelfTimesOf(report, sides, std::move(groups));
  table.title = "Self time by group" + suffix;
  sections.push_back({"",
                      usual && !sides.Disturbed() ? Level::kBrief : Level::kPage,
                      {std::move(table), Paragraph{LegendOf(sides), Level::kPage}}});
}

// A column each.
Section SideBySide(const Report& report) {
  Table table{"side_by_side", "Self time side by side", {{"name", "Self time"}}};
  table.span = SpanOfLatencies(report);
  std::vector<const ReportExperiment*> sides;
  for (const ReportExperiment& experiment : report.experiments) {
    if (!HasTimes(experiment)) continue;
    sides.push_back(&experiment);
    table.columns.push_back(
        {.id = experiment.label, .title = experiment.label, .right = true, .keep = kVariant});
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
  add("Median latency", Row::Role::kSum,
      [](const ReportExperiment& side) { return Maybe<Time>(side.latency.p50); });
  return {"", Level::kUsual, {std::move(table)}};
}

Cell ChangeOf(const SideCost& cost) {
  const std::string change = CostVerdict(cost);
  return change.empty() ? Cell() : Cell(change);
}

}  // namespace

std::vector<Section> SayLatencies(const Report& report) {
  if (report.experiments.empty()) return {};
  const auto& all = report.experiments;
  const bool p99 =
      std::ranges::all_of(all, [](const auto& one) { return one.latency.n >= stats::kLeastForP99; });
  const bool pairs = !report.comparisons.empty();  // then a screen has the intervals of these
  const auto page = [](const char* id, const char* title, int goes) {
    return Table::Column{.id = id, .title = title, .right = true, .goes = goes, .level = Level::kPage};
  };
  Table table{
      "latency",
      "Latency",
      {{.id = "experiment", .title = "Latency", .keep = kVariant},
       {"median", "median", true},
       {.id = "interval", .title = "95% CI", .goes = 9, .level = pairs ? Level::kPage : Level::kUsual},
       page("mean", "mean", 8),
       page("p90", "p90", 7),
       p99 ? Table::Column{"p99", "p99", true} : page("p99", "p99", 6),
       page("min", "min", 5),
       p99 ? page("max", "max", 6) : Table::Column{"max", "max", true},
       page("sd", "sd", 3),
       page("cv", "CV", 4),
       {"runs", "runs", true},
       page("outliers", "outliers", 2),
       page("first_inference", "first inference", 1),
       page("load", "load", 1)}};
  table.level = Level::kBrief;
  table.span = SpanOfLatencies(report);
  const bool memory = std::ranges::any_of(all, [](const auto& one) { return one.peak_rss.has_value(); });
  const bool intervals = std::ranges::any_of(all, [](const auto& one) { return one.interval.has_value(); });
  if (memory) table.columns.push_back(page("peak_memory", "peak memory", 1));
  for (const ReportExperiment& experiment : all) {
    const stats::Distribution& d = experiment.latency;
    Cell interval = intervals ? Cell() : Cell("");  // no column without any
    if (experiment.interval) interval = TimeBounds{experiment.interval->low, experiment.interval->high};
    Row row = {experiment.label,
               Maybe<Time>(d.p50),
               interval,
               Maybe<Time>(d.mean),
               d.n >= stats::kLeastForP90 ? Maybe<Time>(d.p90) : Cell(),
               d.n >= stats::kLeastForP99 ? Maybe<Time>(d.p99) : Cell(),
               Maybe<Time>(d.min),
               Maybe<Time>(d.max),
               Maybe<Time>(d.sd),
               Maybe<Share>(d.cv),
               Count{d.n},
               Count{static_cast<std::int64_t>(d.outliers)},
               Maybe<Time>(experiment.first_run),
               Maybe<Time>(experiment.load)};
    if (memory)
      row.cells.push_back(experiment.peak_rss ? Cell(Size{static_cast<double>(*experiment.peak_rss)})
                                              : Cell());
    table.rows.push_back(std::move(row));
  }
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
    if (const std::string factors = FactorsText(pair); !factors.empty())
      section.parts.emplace_back(Paragraph{factors});
    Table table{"startup",
                "Startup and memory" + TitleSuffix(report, pair),
                {{"name", "Startup & memory"},
                 {.id = "baseline", .title = comparison.baseline_label, .right = true, .keep = kVariant},
                 {.id = "candidate", .title = comparison.candidate_label, .right = true, .keep = kVariant},
                 {"change", "change", true},
                 {.id = "interval", .title = "95% CI", .goes = 1, .level = Level::kPage}}};
    table.units_by_row = true;
    const auto add = [&]<typename Of>(const char* name, const SideCost& cost, Of) {
      if (cost.baseline && cost.candidate) {
        table.rows.push_back(
            {name, Of{*cost.baseline}, Of{*cost.candidate}, ChangeOf(cost), CostInterval(cost)});
      }
    };
    add("Load", pair.costs.load, Duration());
    add("First inference", pair.costs.first_run, Duration());
    add("Peak memory", pair.costs.peak_memory, Size());
    if (!table.rows.empty()) section.parts.emplace_back(std::move(table));
    if (pair.outputs) {
      std::string text = pair.outputs->equal          ? "equal bit for bit"
                         : pair.outputs->note.empty() ? "different"
                                                      : pair.outputs->note;
      if (pair.outputs->largest_absolute)
        text += fmt::format(", largest absolute difference {:.3g}", *pair.outputs->largest_absolute);
      if (pair.outputs->largest_relative)
        text += fmt::format(", largest relative difference {:.3g}", *pair.outputs->largest_relative);
      section.parts.emplace_back(Paragraph{fmt::format("Outputs of {} and {}: {}.", comparison.baseline_label,
                                                       comparison.candidate_label, text),
                                           Level::kPage});
    }
    sections.push_back(std::move(section));
  }
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
    AddSelfTimes(report, {experiment}, TimesOf(experiment.groups),
                 report.experiments.size() > 1 ? ": " + experiment.label : "", IsAlone(report, i), sections);
  }
  return sections;
}

}  // namespace etprof::say
