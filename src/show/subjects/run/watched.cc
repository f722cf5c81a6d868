#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/units.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenWatched = 20;
constexpr std::size_t kMaxShownNames = 2;
constexpr std::size_t kScreenCauses = 5;

using Functions = std::vector<const ObservedFunction*>;

std::string FunctionNames(const Functions& kernels) {
  std::vector<std::string> names;
  for (const ObservedFunction* const function : kernels) names.push_back(function->name);
  const std::size_t unnamed = names.size() > kMaxShownNames ? names.size() - kMaxShownNames : 0;
  names.resize(names.size() - unnamed);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     unnamed > 0 ? fmt::format(", and {} more", unnamed) : "");
}

std::int64_t CountCalls(const Functions& kernels) {
  std::int64_t calls = 0;
  for (const ObservedFunction* const function : kernels) calls += function->Calls();
  return calls;
}

std::int64_t CountThreads(const Functions& kernels) {
  std::int64_t threads = 0;
  for (const ObservedFunction* const function : kernels) threads = std::max(threads, function->ThreadGroup());
  return threads;
}

}  // namespace

std::string CauseText(const ThreadUsage& usage) {
  if (!usage.cause) return "";
  const auto threads = usage.threads.size();
  switch (*usage.cause) {
    case ThreadCause::kFewTasks:
      return fmt::format("{} for {} threads", CountedText(usage.Tasks() / usage.regions, "task"), threads);
    case ThreadCause::kOneThread:
      return fmt::format("one thread did {} of the work", PercentText(usage.BusiestShare().value_or(0)));
    case ThreadCause::kSlowCore:
      return "one thread on a slow core";
    case ThreadCause::kSharedUnit:
      return "tasks wait for each other: probably one shared matrix unit";
  }
  return "";
}

std::vector<Section> MakeProvenKernelSections(const std::vector<WatchedExperiment>& experiments) {
  std::vector<Section> sections;
  for (const WatchedExperiment& experiment : experiments) {
    Table table{.id = "proven",
                .columns = {NameColumn("operator"), Left("code", "proven"),
                            Left("functions").WithBeginningTruncated().WithDropPriority(1),
                            Right("calls").WithDropPriority(2), Right("threads").WithDropPriority(3)}};
    for (const WatchedRow& row : experiment.rows) {
      if (row.code.empty()) {
        table.AddRow(row.name, Cell(), Cell(), Cell(), Cell());
        continue;
      }
      const Functions kernels = row.Kernels();
      table.AddRow(row.name, row.code, FunctionNames(kernels), Count{CountCalls(kernels)},
                   Count{CountThreads(kernels)});
    }
    table.screen_rows = kScreenWatched;
    table.hidden_rows_hint = "in its `_watch.json`";
    sections.push_back({experiment.label, {std::move(table)}});
  }
  if (!sections.empty()) {
    sections.front().AddText(
        "Proven: the runner saw these functions called in this operator; their machine code needs what "
        "is named. —: no call of XNNPACK was seen.");
  }
  return sections;
}

std::vector<Section> MakeThreadSections(const std::vector<WatchedExperiment>& experiments) {
  std::vector<Section> sections;
  for (const WatchedExperiment& experiment : experiments) {
    const std::vector<const WatchedRow*> rows = SortByDecreasing(
        experiment.rows, [](const WatchedRow& row) { return row.threads.time_ns; },
        [](const WatchedRow& row) { return row.threads.regions > 0; });
    if (rows.empty()) continue;
    Table table{.id = "threads",
                .columns = {NameColumn("operator"), Right("time"), Right("tasks").WithDropPriority(3),
                            Right("efficiency"), Right("busiest", "busiest thread").WithDropPriority(2),
                            Right("waiting").WithDropPriority(1),
                            Left("cause", "why threads do not help").WithVisibility(Visibility::kPage)}};
    for (const WatchedRow* const row : rows) {
      const ThreadUsage& usage = row->threads;
      const std::int64_t runs = std::max<std::int64_t>(usage.runs, 1);  // a damaged file may have no runs
      const double total_thread_ns =
          static_cast<double>(usage.time_ns) * static_cast<double>(usage.threads.size());
      table.AddRow(row->name, Time{static_cast<double>(usage.time_ns) / static_cast<double>(runs)},
                   Count{usage.Tasks() / runs}, OptionalCell<Share>(usage.Efficiency()),
                   OptionalCell<Share>(usage.BusiestShare()),
                   total_thread_ns > 0
                       ? Cell(Share{1 - static_cast<double>(usage.BusyNs()) / total_thread_ns})
                       : Cell(),
                   CauseText(usage));
    }
    table.screen_rows = kScreenWatched;
    table.hidden_rows_hint = "in its `_watch.json`";
    List causes{"Why threads do not help"};
    for (const WatchedRow* const row : rows) {
      if (row->threads.cause)
        causes.items.emplace_back(fmt::format("{}: {}", row->name, CauseText(row->threads)));
    }
    causes.screen_items = kScreenCauses;
    Section section{experiment.label, {std::move(table)}};
    section.AddUnlessEmpty(std::move(causes));
    if (experiment.contended) {
      section.AddText(
          "Other processes used the processors in each of these runs, so no cause is named. "
          "Measure again on an idle machine.");
    }
    sections.push_back(std::move(section));
  }
  if (!sections.empty()) {
    sections.front().AddText(
        "Efficiency: the time in tasks over the number of threads times that of the parallel regions. "
        "Waiting: the share of all threads' time in the operator that is in no task. Watching takes time: "
        "compare these times only with each other.");
  }
  return sections;
}

}  // namespace etprof::show
