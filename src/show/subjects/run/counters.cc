#include "measure/store/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/units.h"
#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenOperators = 20;

// The value by which operators are sorted: processor time, else cycles, else instructions.
double CountersSortKey(const CountersRow& row) {
  for (const char* const counter : {"task_clock_ns", "cycles", "instructions"}) {
    if (const auto mean = row.Mean(counter)) return *mean;
  }
  return 0;
}

bool IsOfKind(const CountersRow& row, const char* kind) {
  return row.key.find(std::string("/") + kind + "/") != std::string::npos;
}

std::optional<double> ScaleValue(const std::optional<double>& value, double scale) {
  return value ? std::optional(*value * scale) : std::nullopt;
}

std::optional<double> PercentOfCycles(const CountersRow& row, const char* counter) {
  const auto part = row.Mean(counter), cycles = row.Mean("cycles");
  return part && cycles && *cycles > 0 ? std::optional(100 * *part / *cycles) : std::nullopt;
}

struct CounterColumn {
  const char *id, *title;
  Cell (*cell)(const CountersRow&);
};

constexpr CounterColumn kColumns[] = {
    {"task_clock", "processor time",
     [](const CountersRow& row) { return OptionalCell<Duration>(row.Mean("task_clock_ns")); }},
    {"ghz", "GHz",
     [](const CountersRow& row) { return OptionalNumberCell(ScaleValue(row.EffectiveFrequency(), 1e-9)); }},
    {"instructions_per_cycle", "instructions per cycle",
     [](const CountersRow& row) { return OptionalNumberCell(row.InstructionsPerCycle()); }},
    {"cache_misses_per_1000", "cache misses per 1000",
     [](const CountersRow& row) { return OptionalNumberCell(row.CacheMissesPerThousand()); }},
    {"branch_misses_per_1000", "branch misses per 1000",
     [](const CountersRow& row) { return OptionalNumberCell(row.BranchMissesPerThousand()); }},
    {"stalled_frontend_percent", "frontend stalls",
     [](const CountersRow& row) {
       return OptionalNumberCell(PercentOfCycles(row, "stalled_cycles_frontend"));
     }},
    {"stalled_backend_percent", "backend stalls",
     [](const CountersRow& row) {
       return OptionalNumberCell(PercentOfCycles(row, "stalled_cycles_backend"));
     }},
    {"page_faults", "page faults",
     [](const CountersRow& row) { return OptionalNumberCell(row.Mean("page_faults")); }},
    {"context_switches", "switches",
     [](const CountersRow& row) { return OptionalNumberCell(row.Mean("context_switches")); }},
    {"cpu_migrations", "migrations",
     [](const CountersRow& row) { return OptionalNumberCell(row.Mean("cpu_migrations")); }}};

// The whole method, then the operators by decreasing processor time.
std::vector<const CountersRow*> OrderRows(const std::vector<CountersRow>& counters) {
  std::vector<const CountersRow*> rows = SortByDecreasing(
      counters, CountersSortKey,
      [](const CountersRow& row) { return IsOfKind(row, "kernel") || IsOfKind(row, "backend"); });
  for (const CountersRow& row : counters) {
    if (IsOfKind(row, "method")) rows.insert(rows.begin(), &row);
  }
  return rows;
}

// A table of the columns for which any row has a value. On a narrow screen, the last columns are dropped
// first.
Table MakeCountersTable(const std::vector<CountersRow>& counters) {
  const std::vector<const CountersRow*> rows = OrderRows(counters);
  Table table{.id = "counters", .columns = {Left("operator")}};
  table.rows.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].cells.emplace_back(rows[i]->name);
  for (const CounterColumn& column : kColumns) {
    std::vector<Cell> cells;
    for (const CountersRow* const row : rows) cells.push_back(column.cell(*row));
    if (std::ranges::all_of(cells, [](const Cell& cell) { return HasNoValue(cell); })) continue;
    const int drop_priority =
        table.columns.size() == 1 ? 0 : static_cast<int>(std::size(kColumns) - table.columns.size());
    table.columns.push_back({column.id, column.title, true, drop_priority});
    for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].cells.push_back(std::move(cells[i]));
  }
  table.screen_rows = kScreenOperators + 1;
  table.hidden_rows_hint = "in its `_counters.csv`";
  return table;
}

struct KindColumn {
  const char *counter, *title;
};
constexpr KindColumn kKinds[] = {{"outer_product_instructions", "outer products"},
                                 {"sme_instructions", "other SME"},
                                 {"sve_instructions", "SVE"},
                                 {"i8mm_instructions", "i8mm"},
                                 {"dot_product_instructions", "dot product"},
                                 {"bf16_instructions", "BF16"},
                                 {"neon_instructions", "NEON"},
                                 {"scalar_instructions", "scalar"}};

// The whole method, its operators by decreasing count, and the instructions outside of operators.
std::vector<InstructionsRow> OrderRows(const std::vector<InstructionsRow>& counted) {
  const InstructionsRow* const method = MethodInstructions(counted);
  std::vector<InstructionsRow> rows;
  for (const InstructionsRow& row : counted) {
    if (&row != method) rows.push_back(row);
  }
  std::ranges::stable_sort(rows, std::greater(), &InstructionsRow::instructions);
  if (method == nullptr) return rows;
  InstructionsRow overhead = *method;
  overhead.name = "Framework overhead";
  for (const InstructionsRow& row : rows) {
    overhead.instructions -= row.instructions;
    for (auto& [kind, count] : overhead.kinds) count -= row.CountOfKind(kind).value_or(0);
  }
  rows.insert(rows.begin(), *method);
  rows.push_back(std::move(overhead));
  return rows;
}

Table MakeInstructionsTable(const std::vector<InstructionsRow>& counted) {
  const std::vector<InstructionsRow> rows = OrderRows(counted);
  Table table{.id = "instructions",
              .columns = {Left("operator"), Right("instructions"), Right("share", "% of all")}};
  const InstructionsRow* const method = MethodInstructions(counted);
  const double total = method != nullptr ? method->instructions : 0;
  for (const InstructionsRow& row : rows)
    table.AddRow(row.name, Amount(row.instructions), ShareCell(row.instructions, total));
  int drop_priority = static_cast<int>(std::size(kKinds));
  for (const KindColumn& kind : kKinds) {
    const auto count = [&](const InstructionsRow& row) { return row.CountOfKind(kind.counter).value_or(0); };
    --drop_priority;
    if (std::ranges::all_of(rows, [&](const InstructionsRow& row) { return count(row) == 0; })) continue;
    table.columns.push_back({kind.counter, kind.title, true, drop_priority});
    for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].cells.emplace_back(Amount(count(rows[i])));
  }
  table.screen_rows = kScreenOperators + 1;
  table.hidden_rows_hint = "in its `_instructions.csv`";
  return table;
}

}  // namespace

Document MakeCountersDocument(const RunData& run) {
  Document document{.title = "Counters", .section_kind = "experiment"};
  std::set<std::filesystem::path> seen_files;
  for (const ExperimentData& data : run.experiments) {
    if (!data.counters.empty() && seen_files.insert(CountersFile(data)).second)
      document.sections.push_back({data.label, {MakeCountersTable(data.counters)}});
  }
  document.method =
      "Means over separate runs, in which the counters were read at every operator boundary "
      "(docs/guides/bottlenecks.md). Misses are per 1000 instructions, stalls in percent of cycles.";
  return document;
}

Document MakeInstructionsDocument(const RunData& run) {
  Document document{.title = "Instructions", .section_kind = "experiment"};
  for (const ExperimentData& data : run.experiments) {
    if (data.instructions.empty()) continue;
    document.sections.push_back(
        {fmt::format("{}, counted by {}", data.label, data.instructions.front().SourceText()),
         {MakeInstructionsTable(data.instructions)}});
  }
  document.method =
      "Executed in one run of one thread. A count is no latency: memory, clocks, and threads are not in it "
      "(docs/guides/instructions.md).";
  return document;
}

}  // namespace etprof::show
