#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/clock.h"
#include "core/json/describe.h"
#include "core/units.h"
#include "history/trends.h"
#include "show/gates.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenRuns = 10;
constexpr std::size_t kMaxChartPoints = 60;
constexpr std::size_t kScreenChangedOperators = 5;
constexpr std::size_t kCommitHashDigits = 12;

// Shortens hashes; names stay whole.
std::string CommitText(const std::string& commit) {
  const bool is_hash =
      commit.size() == 40 && commit.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_hash ? commit.substr(0, kCommitHashDigits) : commit;
}

std::optional<double> TrendMean(const Trend& trend, std::size_t run, bool self_times) {
  if (self_times) return trend.data.points[run].self.mean;
  const auto& value = trend.runs[run].latency;
  return value ? std::optional(value->mean) : std::nullopt;
}

// "between 1f0c (old level) and 83aa (new level), most likely 83aa". `run_sd` is the standard deviation of
// the runs that changed.
std::string ChangePlaceText(const Trend& trend, const TrendChange& change, std::optional<double> run_sd) {
  const auto commit = [&](std::size_t run) { return CommitText(trend.data.points[run].commit); };
  std::size_t candidates = 0;
  std::string last_commit = trend.data.points[change.before].commit;
  for (std::size_t i = change.before + 1; i <= change.after; ++i) {
    if (trend.data.points[i].commit != last_commit) ++candidates;
    last_commit = trend.data.points[i].commit;
  }
  if (candidates <= 1) return "at " + commit(change.first_run);
  std::string text = fmt::format("after {} and not after {}, most likely at {}", commit(change.before),
                                 commit(change.after), commit(change.first_run));
  // A commit can be identified if a run is within a fifth of the change from its level
  // (bench/results/statistics/change_point.md). More launches reduce only the part of the spread that
  // launches explain.
  const double fixed_variance = std::pow(trend.between_sd.value_or(0), 2);
  const double wanted_variance = std::pow(std::log1p(change.growth) / 5, 2) - fixed_variance;
  const double factor = run_sd && trend.between_sd && wanted_variance > 0
                            ? (*run_sd * *run_sd - fixed_variance) / wanted_variance
                            : 0;
  if (factor > 1)
    text += fmt::format(" (measurements with {} times as many launches would narrow this down)",
                        std::ceil(factor));
  return text;
}

constexpr NamedValue<ChangeCause> kCauses[] = {
    {ChangeCause::kCode, "the code (the reference did not change)"},
    {ChangeCause::kMachine, "the machine (the reference itself changed)"},
    {ChangeCause::kDevice, "another device, or another system on it"},
    {ChangeCause::kUnknown,
     "the code or the machine (no reference that stayed the same was measured with it)"}};

std::string ChangeSentence(const Trend& trend, const TrendChange& change, std::optional<double> run_sd) {
  std::string text = fmt::format("{} ({}) {}. Cause: {}", ChangeText(change.growth, change.low, change.high),
                                 change.growth > 0 ? "slower" : "faster",
                                 ChangePlaceText(trend, change, run_sd), FindName(kCauses, change.cause));
  if (!change.differs.empty()) text += fmt::format(". Also different: {}", change.differs);
  if (change.accepted)
    text += change.accepted->empty() ? ". Accepted" : fmt::format(". Accepted: {}", *change.accepted);
  return text;
}

std::string MinChangeText(double min_change) { return fmt::format("{:g}%", 100 * min_change); }

std::string NoiseText(const Trend& trend, double min_change) {
  if (!trend.run_sd) return "too few measurements to know their noise";
  std::string text = fmt::format("measurements of one level differ by ±{} (standard deviation)",
                                 RelativeText(*trend.run_sd));
  if (trend.between_sd && *trend.between_sd > 0 && *trend.between_sd < *trend.run_sd)
    text += fmt::format(", of which their launches do not explain ±{}", RelativeText(*trend.between_sd));
  if (trend.runs_to_detect) {
    text += fmt::format("; a change of {} shows after {}", MinChangeText(min_change),
                        CountedText(*trend.runs_to_detect, "measurement"));
  }
  return text;
}

// States what a series still needs to detect a change of `min_change`; "" if it already can.
std::string MissingEvidenceText(const Trend& trend, double min_change) {
  if (trend.decision != GateDecision::kInconclusive) return "";
  if (trend.missing_runs) {
    return fmt::format("needs at least {} to detect a change of {}",
                       CountedText(*trend.missing_runs, "more measurement"), MinChangeText(min_change));
  }
  // Launches explain at least half of the variance, or may, because each measurement has a single one.
  const bool launches_explain =
      trend.run_sd && 2 * std::pow(trend.between_sd.value_or(0), 2) <= std::pow(*trend.run_sd, 2);
  return fmt::format("cannot detect a change of {} with any number of such measurements: {}",
                     MinChangeText(min_change),
                     launches_explain ? "measure more launches in each"
                                      : "they differ by more than their launches explain. Make the machine "
                                        "steadier, or measure a reference with them");
}

// Columns that describe a change: place, size, and cause.
std::vector<Table::Column> ChangeColumns() {
  return {Left("commit", "most likely at"),
          Left("after").WithDropPriority(2),
          Left("not_after", "not after").WithDropPriority(2),
          Right("change"),
          Left("cause"),
          Left("differs").WithDropPriority(1)};
}
std::vector<Cell> ChangeCells(const Trend& trend, const TrendChange& change) {
  const auto commit = [&](std::size_t run) { return CommitText(trend.data.points[run].commit); };
  const Tone tone = !change.is_relevant ? Tone::kPlain : change.low > 0 ? Tone::kBad : Tone::kGood;
  return {commit(change.first_run), commit(change.before),
          commit(change.after),     Cell(Change{change.growth, change.low, change.high}, tone),
          GetName(change.cause),    change.differs};
}

Table MakeTrendChangesTable(const Trend& trend) {
  Table table{.id = "changes", .columns = ChangeColumns(), .visibility = Visibility::kPage};
  for (const TrendChange& change : trend.changes) table.rows.emplace_back(ChangeCells(trend, change));
  return table;
}

Table MakeOperatorChangesTable(const Trend& trend) {
  Table table{"operator_changes", "", ChangeColumns()};
  table.columns.insert(table.columns.begin(), {Left("operator"), Left("key").WithDropPriority(2),
                                               Right("share", "of an inference").WithDropPriority(1)});
  table.visibility = Visibility::kPage;
  for (const OperatorTrend& op : trend.operators) {
    for (const TrendChange& change : op.changes) {
      Row& row = table.AddRow(op.name, op.key, Share{op.share});
      std::ranges::move(ChangeCells(trend, change), std::back_inserter(row.cells));
    }
  }
  return table;
}

List MakeOperatorChangesList(const Trend& trend) {
  List list{.title = "Operators that changed", .screen_items = kScreenChangedOperators};
  for (const OperatorTrend& op : trend.operators) {
    for (const TrendChange& change : op.changes) {
      list.items.push_back({fmt::format("{} ({}, {} of an inference): {}", op.name, op.key,
                                        PercentText(op.share), ChangeSentence(trend, change, std::nullopt)),
                            {},
                            Visibility::kDefault,
                            "operator_changes"});
    }
  }
  return list;
}

Cell BoundsCell(const std::optional<TrendValue>& value) {
  return value && value->low ? Cell(TimeBounds{*value->low, *value->high}) : Cell();
}

Cell RelativeCell(const std::optional<TrendValue>& value) {
  return value ? Cell(Number{value->mean, "", value->low, value->high}) : Cell();
}

Table MakeTrendRunsTable(const Trend& trend, bool self_times) {
  Table table{
      .id = "trend",
      .columns = {Left("commit"), Left("measured_at", "measured").WithDropPriority(3),
                  Right("time", self_times ? "self time" : "latency"),
                  Right("interval", "95% CI").WithDropPriority(6),
                  Right("relative", "/ reference").WithDropPriority(7), Right("launches").WithDropPriority(5),
                  Right("clean").WithDropPriority(4), Right("capped").WithDropPriority(2),
                  Right("temperature").WithDropPriority(1), Left("note", "")}};
  table.screen_rows = kScreenRuns;
  for (std::size_t i = trend.runs.size(); i-- > 0;) {  // newest first
    const TrendPoint& point = trend.data.points[i];
    const TrendRun& run = trend.runs[i];
    std::string note;
    for (const TrendChange& change : trend.changes) {
      if (change.first_run == i) note = change.growth > 0 ? "slower from here on" : "faster from here on";
    }
    const HistoryConditions& conditions = point.conditions;
    table.AddRow(CommitText(point.commit), FormatUtc(point.measured_at),
                 OptionalCell<Time>(TrendMean(trend, i, self_times)),
                 self_times ? Cell() : BoundsCell(run.latency), RelativeCell(run.relative),
                 Count{run.launches}, ShareCell(run.clean_runs, run.runs),
                 ShareCell(conditions.capped_rounds, conditions.rounds),
                 conditions.celsius ? Cell(Number{*conditions.celsius, "°C"}) : Cell(), note);
  }
  return table;
}

Chart MakeTrendChart(const Trend& trend, bool self_times) {
  Chart::Series times{self_times ? "self time" : "latency", {}, [](double ns) { return Cell(Duration{ns}); }};
  Chart::Series relative{"/ reference", {}, [](double ratio) { return Cell(Number{ratio, ""}); }};
  const std::size_t from = trend.runs.size() > kMaxChartPoints ? trend.runs.size() - kMaxChartPoints : 0;
  std::vector<std::string> points;
  for (std::size_t i = from; i < trend.runs.size(); ++i) {
    const TrendPoint& point = trend.data.points[i];
    points.push_back(fmt::format("{}, {}", CommitText(point.commit), FormatUtc(point.measured_at)));
    times.values.push_back(TrendMean(trend, i, self_times));
    const auto& ratio = trend.runs[i].relative;
    relative.values.push_back(ratio ? std::optional(ratio->mean) : std::nullopt);
  }
  Chart chart{{std::move(times)}, std::move(points)};
  for (const TrendChange& change : trend.changes) {
    if (change.first_run < from) continue;
    const std::string change_text = ChangeText(change.growth);
    chart.marks.push_back(
        {change.first_run - from, change.accepted ? change_text + " (accepted)" : change_text});
  }
  if (std::ranges::any_of(relative.values, [](const auto& value) { return value.has_value(); }))
    chart.series.push_back(std::move(relative));
  return chart;
}

std::string RunsText(const Trend& trend) {
  std::string text = CountedText(trend.runs.size(), "measurement");
  if (trend.data.earlier > 0)
    text += fmt::format(" (and {} earlier, not shown)",
                        FormatCount(static_cast<std::int64_t>(trend.data.earlier)));
  if (trend.unused_runs > 0) {
    text += trend.unused_runs == trend.runs.size()
                ? ", without a value to judge"
                : fmt::format(", {} of them without a value to judge",
                              FormatCount(static_cast<std::int64_t>(trend.unused_runs)));
  }
  return text;
}

Section MakeTrendSection(const Trend& trend, const HistoryReport& history, bool gate) {
  Section section{GetName(trend.data.key), Visibility::kDefault};
  std::string text = fmt::format("{}; {}.", RunsText(trend), NoiseText(trend, history.min_change));
  if (trend.relative) text += " Changes are of the ratio to the reference.";
  if (trend.is_reference)
    text += " Other experiments are relative to this one: its changes are the machine's.";
  section.AddText(text);
  List changes{""};
  for (const TrendChange& change : trend.changes)
    changes.items.push_back(
        {ChangeSentence(trend, change, trend.run_sd), {}, Visibility::kDefault, "changes"});
  if (trend.changes.empty()) {
    const std::string missing = trend.is_reference ? "" : MissingEvidenceText(trend, history.min_change);
    changes.items.emplace_back(missing.empty() ? "no change shows"
                                               : "no change shows, but the series " + missing);
  }
  section.parts.emplace_back(std::move(changes));
  if (!trend.operators.empty()) {
    section.parts.emplace_back(MakeOperatorChangesList(trend));
  } else if (trend.tested_operators > 0) {
    section.AddText(fmt::format("None of {} shows a change of its self time.",
                                CountedText(trend.tested_operators, "operator")));
  }
  if (gate) section.parts.emplace_back(MakeOperatorChangesTable(trend));
  section.parts.emplace_back(MakeTrendChart(trend, !history.operator_name.empty()));
  section.parts.emplace_back(MakeTrendChangesTable(trend));
  if (!gate) section.parts.emplace_back(MakeTrendRunsTable(trend, !history.operator_name.empty()));
  return section;
}

std::string TrendResultText(const Trend& trend, bool gate) {
  if (trend.is_reference) return "reference";
  if (gate) return ResultText(trend.decision);
  return trend.decision == GateDecision::kFail           ? "slower"
         : trend.decision == GateDecision::kInconclusive ? "too few measurements"
                                                         : "no slowdown";
}

Table MakeSeriesTable(const HistoryReport& history, bool gate) {
  Table table{
      .id = "series",
      .columns = {Left("name", "series").WithDifferenceKept(),
                  Right("measurements", "measured").WithDropPriority(2),
                  Right("time", history.operator_name.empty() ? "latency" : "self time"),
                  Right("noise").WithDropPriority(1), Right("changes").WithDropPriority(3),
                  Right("last_change", "last change").WithDropPriority(4), Left("result").NeverDropped()},
      .min_name_width = 40};
  for (const Trend& trend : history.trends) {
    Cell last_change;
    if (!trend.changes.empty()) {
      const TrendChange& change = trend.changes.back();
      last_change = Change{change.growth, change.low, change.high};
    }
    const Tone tone = trend.is_reference ? Tone::kPlain : GetTone(trend.decision);
    table.AddRow(GetName(trend.data.key), Count{trend.runs.size()},
                 OptionalCell<Time>(TrendMean(trend, trend.runs.size() - 1, !history.operator_name.empty())),
                 OptionalCell<Share>(trend.run_sd), Count{trend.changes.size()}, last_change,
                 Cell(TrendResultText(trend, gate), tone));
  }
  return table;
}

Document MakeTrendsDocument(const HistoryReport& history, const std::string& file, bool gate) {
  Document document{.title = gate ? "etprof history check" : "etprof history",
                    .section_kind = "series",
                    .facts = {file, CountedText(history.trends.size(), "series", "series")}};
  if (!history.operator_name.empty()) document.facts.push_back("self time of " + history.operator_name);
  document.sections.push_back({"", {MakeSeriesTable(history, gate)}});
  for (const Trend& trend : history.trends)
    document.sections.push_back(MakeTrendSection(trend, history, gate));
  if (history.trends.empty()) {  // Tables without rows are added, so that CSV offers every id.
    const Trend empty_trend;
    document.sections.push_back(
        {"",
         {MakeTrendChangesTable(empty_trend),
          gate ? MakeOperatorChangesTable(empty_trend) : MakeTrendRunsTable(empty_trend, false)}});
  }
  document.notes = MakeNoteList(history.notes);
  document.method = fmt::format(
      "A measurement is the unit. Its value is the interquartile mean of its launches. Changes are found by "
      "binary segmentation with permutation tests over measurements; the chance of a false one in any series "
      "is at most {:g}%. Intervals of place and size are at 95%.",
      100 * history.level);
  if (std::ranges::any_of(history.trends, [](const Trend& trend) { return trend.tested_operators > 0; })) {
    document.method +=
        " Operators with at least 1% of an inference are judged together (Benjamini and Hochberg) by their "
        "self times relative to the reference's traced inference; they decide nothing.";
  }
  return document;
}

std::size_t CountDecisions(const HistoryReport& history, GateDecision decision) {
  return static_cast<std::size_t>(std::ranges::count_if(
      history.trends, [&](const Trend& trend) { return !trend.is_reference && trend.decision == decision; }));
}

std::string TrendMessage(const Trend& trend, const HistoryReport& history) {
  std::string text;
  for (const TrendChange& change : trend.changes) {
    if (change.is_relevant && change.low > 0)
      text += (text.empty() ? "" : "; ") + ChangeSentence(trend, change, trend.run_sd);
  }
  if (!text.empty()) return text;
  const std::string missing = MissingEvidenceText(trend, history.min_change);
  return missing.empty() ? "no slowdown shows" : missing;
}

}  // namespace

Document MakeHistoryDocument(const HistoryReport& history, const std::string& file) {
  return MakeTrendsDocument(history, file, false);
}

Document MakeHistoryCheckDocument(const HistoryReport& history, const std::string& file,
                                  bool require_conclusive) {
  Document document = MakeTrendsDocument(history, file, true);
  document.answers_last = true;
  const std::size_t failed = CountDecisions(history, GateDecision::kFail);
  const std::size_t undecided = CountDecisions(history, GateDecision::kInconclusive);
  const std::size_t total = failed + undecided + CountDecisions(history, GateDecision::kPass);
  std::string text;
  if (total == 0) {
    text = "no series to judge";
  } else if (failed > 0) {
    text = fmt::format("{} of {} became slower", failed, CountedText(total, "series", "series"));
    if (undecided > 0) text += fmt::format(", {} could not be decided", undecided);
  } else if (undecided > 0) {
    text = fmt::format("{} of {} could not be decided", undecided, CountedText(total, "series", "series"));
  } else {
    text = fmt::format("none of {} became slower", CountedText(total, "series", "series"));
  }
  document.answers = {Headline(history.decision, require_conclusive, false, text)};
  return document;
}

TestSuite MakeTestSuite(const HistoryReport& history, const std::string& file, bool require_conclusive) {
  TestSuite suite{.command = "history check",
                  .subject = file,
                  .properties = {{"level", fmt::format("{:g}", history.level)},
                                 {"smallest", fmt::format("{:g}", history.min_change)},
                                 {"since", history.since}}};
  std::int64_t newest = 0;
  for (const Trend& trend : history.trends) {
    newest = std::max(newest, trend.data.points.back().measured_at);
    if (trend.is_reference) continue;
    TestSuite::Case test_case{GetName(trend.data.key), TestSuite::Outcome::kPassed, "",
                              TrendMessage(trend, history), ""};
    SetCaseResult(trend.decision, require_conclusive, test_case);
    test_case.details = fmt::format("{}; {}\n", RunsText(trend), NoiseText(trend, history.min_change));
    for (const TrendChange& change : trend.changes)
      test_case.details += ChangeSentence(trend, change, trend.run_sd) + "\n";
    suite.cases.push_back(std::move(test_case));
  }
  if (newest > 0) suite.timestamp = FormatUtc(newest);
  suite.notes = history.notes;
  return suite;
}

}  // namespace etprof::show
