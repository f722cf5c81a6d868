#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/units.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenWatched = 20;
constexpr std::size_t kMaxNames = 2;
constexpr std::size_t kScreenCauses = 5;

using Functions = std::vector<const ObservedFunction*>;

std::string FunctionNames(const Functions& kernels) {
  std::vector<std::string> names;
  for (const ObservedFunction* const function : kernels) names.push_back(function->name);
  const std::size_t unnamed = names.size() > kMaxNames ? names.size() - kMaxNames : 0;
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

std::string CauseText(const ThreadUse& use) {
  if (!use.cause) return "";
  const auto threads = use.threads.size();
  switch (*use.cause) {
    case ThreadCause::kFewTasks:
      return fmt::format("{} for {} threads", CountedText(use.Tasks() / use.regions, "task"), threads);
    case ThreadCause::kOneThread:
      return fmt::format("one thread did {} of the work", PercentText(use.BusiestShare().value_or(0)));
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
                .columns = {Names("operator"), Left("code", "proven"),
                            Left("functions").KeepsEnd().WithDropPriority(1),
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
                .columns = {Names("operator"), Right("time"), Right("tasks").WithDropPriority(3),
                            Right("efficiency"), Right("busiest", "busiest thread").WithDropPriority(2),
                            Right("waiting").WithDropPriority(1),
                            Left("cause", "why threads do not help").WithVisibility(Visibility::kPage)}};
    for (const WatchedRow* const row : rows) {
      const ThreadUse& use = row->threads;
      const auto runs = static_cast<double>(std::max<std::int64_t>(use.runs, 1));
      const double whole = static_cast<double>(use.time_ns) * static_cast<double>(use.threads.size());
      table.AddRow(row->name, Time{static_cast<double>(use.time_ns) / runs}, Count{use.Tasks() / use.runs},
                   OptionalCell<Share>(use.Efficiency()), OptionalCell<Share>(use.BusiestShare()),
                   whole > 0 ? Cell(Share{1 - static_cast<double>(use.BusyNs()) / whole}) : Cell(),
                   CauseText(use));
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
