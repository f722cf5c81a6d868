#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "core/units.h"
#include "report/kernels/watched.h"
#include "report/report.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenMatrixOperators = 5, kPageMatrixOperators = 15;

// For a thread sweep: the operators that the most threads do not speed up, and why, if that was watched.
List OperatorsWithoutSpeedup(const Report& report, const Matrix& matrix) {
  const ReportExperiment& baseline = report.experiments[matrix.baseline];
  List list{.title = "No faster with more threads", .screen_items = kScreenMatrixOperators};
  if (!matrix.is_thread_sweep || !baseline.profile || matrix.candidates.empty()) return list;
  const ReportExperiment& most_threads = report.experiments[matrix.candidates.back()];
  const std::span<const WatchedRow> watched = FindWatchedRows(report.watched, most_threads.Data(report));
  const OperatorNames names(*baseline.profile);
  for (const MatrixRow& row : matrix.operators) {
    if (!row.op || row.cells.empty()) continue;
    const TimeComparison& time_comparison = row.cells.back();
    const bool same = time_comparison.verdict == stats::Verdict::kSame;
    if (!same && time_comparison.verdict != stats::Verdict::kSlower) continue;
    const auto found =
        std::ranges::find(watched, KeyText(baseline.profile->operators[*row.op].key), &WatchedRow::key);
    const std::string cause = found == watched.end() ? "" : CauseText(found->threads);
    list.items.emplace_back(fmt::format("{}{}: {} with {} {} with {}{}", row.name, names.Location(*row.op),
                                        same ? "as fast" : "slower",
                                        CountedText(*most_threads.threads, "thread"), same ? "as" : "than",
                                        *baseline.threads, cause.empty() ? "" : " (" + cause + ")"));
  }
  return list;
}

// A column of the baseline's times, and for each candidate columns of times and speedups.
Table MakeMatrixTable(const Report& report, const Matrix& matrix, const char* id, const char* title) {
  Table table{fmt::format("{}_{}{}", matrix.is_thread_sweep ? "threads" : "matrix", matrix.baseline, id),
              "",
              {Left("name", title)}};
  table.columns.front().truncation = Table::Truncation::kKeepNameEnds;
  const auto add = [&](std::size_t index) {
    const ReportExperiment& experiment = report.experiments[index];
    const std::string column =
        matrix.is_thread_sweep ? fmt::format("threads_{}", *experiment.threads) : experiment.label;
    table.columns.push_back(VariantColumn(
        column, matrix.is_thread_sweep ? CountedText(*experiment.threads, "thread") : experiment.label));
    if (index != matrix.baseline) table.columns.push_back(Right(column + "_speedup", ""));
  };
  add(matrix.baseline);
  for (const std::size_t candidate : matrix.candidates) add(candidate);
  return table;
}

void AddMatrixRow(const MatrixRow& matrix_row, const std::string& name, Visibility visibility, Table& table) {
  Row& row = table.AddRow(name, OptionalCell<Time>(matrix_row.baseline_ns));
  row.visibility = visibility;
  for (const MatrixCell& cell : matrix_row.cells)
    row.Add(OptionalCell<Time>(cell.candidate_ns), Speedup{cell, cell.efficiency});
}

// `own`: an experiment's value over all of its launches. It replaces the values of the pairs, which are over
// the launches that both variants have, if the pairs have different values of the baseline.
template <typename T>
void AddCosts(const Report& report, const Matrix& matrix, const char* name, StartupCost StartupCosts::*member,
              const auto& own, Table& table) {
  const bool known = std::ranges::any_of(matrix.costs, [&](const StartupCosts& costs) {
    return (costs.*member).baseline && (costs.*member).candidate;
  });
  if (!known) return;
  const std::optional<double> common = (matrix.costs.front().*member).baseline;
  const bool agree = std::ranges::all_of(
      matrix.costs, [&](const StartupCosts& costs) { return (costs.*member).baseline == common; });
  const auto value = [&](std::size_t experiment) -> std::optional<double> {
    return std::invoke(own, report.experiments[experiment]);
  };
  Row& row = table.AddRow(name, OptionalCell<T>(agree ? common : value(matrix.baseline)));
  row.visibility = Visibility::kPage;
  for (std::size_t i = 0; i < matrix.costs.size(); ++i) {
    const StartupCost& cost = matrix.costs[i].*member;
    row.Add(OptionalCell<T>(agree ? cost.candidate : value(matrix.candidates[i])), CostChangeText(cost));
  }
}

}  // namespace

Section MakeMatrixSection(const Report& report, const Matrix& matrix) {
  const ReportExperiment& baseline = report.experiments[matrix.baseline];
  Section section{
      matrix.is_thread_sweep ? "Threads: " + baseline.Data(report).name : "Compared with " + baseline.label,
      Visibility::kDefault};
  if (!matrix.interleaved) section.AddText(kNotInterleaved);
  for (const ComparePair& pair : report.run.pairs) {
    if (matrix.is_thread_sweep || pair.baseline != matrix.baseline) continue;
    const std::string reason = NotComparedReason(report, pair.baseline, pair.candidate);
    if (!reason.empty()) section.AddText("Not compared: " + reason + ".");
  }
  section.AddText(
      matrix.is_thread_sweep
          ? AddUndefinedText("Next to each time: the speedup, and the efficiency (speedup over the ratio of "
                             "the threads; 100% is perfect).",
                             report) +
                " ≈: too few independent runs for an interval."
          : AddUndefinedText("Next to each time: the speedup.", report),
      Visibility::kPage);
  Table table = MakeMatrixTable(report, matrix, "", "self time");
  for (const MatrixRow& row : matrix.groups) AddMatrixRow(row, row.name, Visibility::kDefault, table);
  AddMatrixRow(matrix.latency, matrix.latency.name, Visibility::kDefault, table);
  AddCosts<Time>(report, matrix, "Load", &StartupCosts::load, &ReportExperiment::load, table);
  AddCosts<Size>(report, matrix, "Peak memory", &StartupCosts::peak_memory, &ReportExperiment::peak_rss,
                 table);
  section.parts.emplace_back(std::move(table));

  Table operators = MakeMatrixTable(report, matrix, "_operators", "operator");
  operators.screen_rows = kPageMatrixOperators;
  operators.hidden_rows_hint = "operators in analysis_summary.json";
  const auto names = baseline.profile ? std::optional<OperatorNames>(*baseline.profile) : std::nullopt;
  for (const MatrixRow& row : matrix.operators) {
    AddMatrixRow(row, row.name + (names && row.op ? names->Location(*row.op) : ""),
                 operators.rows.size() < kScreenMatrixOperators ? Visibility::kDefault : Visibility::kPage,
                 operators);
  }
  section.parts.emplace_back(std::move(operators));
  section.AddUnlessEmpty(OperatorsWithoutSpeedup(report, matrix));
  return section;
}

}  // namespace etprof::show
