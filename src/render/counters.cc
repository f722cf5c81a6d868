#include "render/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/table.h"
#include "core/units.h"
#include "render/terminal_text.h"
#include "render/wording.h"

namespace etprof {
namespace {

constexpr std::size_t kMostRows = 20;

// What orders operators: processor time, else cycles, else what there is.
double Cost(const CountersRow& row) {
  for (const char* const counter : {"task_clock_ns", "cycles", "instructions"}) {
    if (const auto mean = row.Mean(counter)) return *mean;
  }
  return 0;
}

bool Is(const CountersRow& row, const char* kind) {
  return row.key.find(std::string("/") + kind + "/") != std::string::npos;
}

struct Column {
  const char* title;
  std::optional<std::string> (*text)(const CountersRow&);
};

std::optional<std::string> Three(const std::optional<double>& value, double scale = 1) {
  return value ? std::optional(fmt::format("{:.3g}", *value * scale)) : std::nullopt;
}

const std::vector<Column>& Columns() {
  static const std::vector<Column> columns = {
      {"processor time",
       [](const CountersRow& row) {
         const auto time = row.Mean("task_clock_ns");
         return time ? std::optional(FormatDuration(*time)) : std::nullopt;
       }},
      {"GHz", [](const CountersRow& row) { return Three(row.EffectiveFrequency(), 1e-9); }},
      {"instructions a cycle", [](const CountersRow& row) { return Three(row.InstructionsPerCycle()); }},
      {"cache misses a 1000", [](const CountersRow& row) { return Three(row.CacheMissesPerThousand()); }},
      {"branch misses a 1000", [](const CountersRow& row) { return Three(row.BranchMissesPerThousand()); }},
      {"stalled in front",
       [](const CountersRow& row) {
         const auto stalled = row.Mean("stalled_cycles_frontend"), cycles = row.Mean("cycles");
         return stalled && cycles && *cycles > 0 ? Three(100 * *stalled / *cycles) : std::nullopt;
       }},
      {"stalled behind",
       [](const CountersRow& row) {
         const auto stalled = row.Mean("stalled_cycles_backend"), cycles = row.Mean("cycles");
         return stalled && cycles && *cycles > 0 ? Three(100 * *stalled / *cycles) : std::nullopt;
       }},
      {"page faults", [](const CountersRow& row) { return Three(row.Mean("page_faults")); }},
      {"switches", [](const CountersRow& row) { return Three(row.Mean("context_switches")); }},
      {"migrations", [](const CountersRow& row) { return Three(row.Mean("cpu_migrations")); }}};
  return columns;
}

// The columns that any row has, with names of at most so many columns (0: as long as they are).
Table TableOf(const std::vector<const CountersRow*>& rows, int name_width) {
  Table table{{{"operator"}}, {}};
  std::vector<const Column*> shown;
  for (const Column& column : Columns()) {
    if (std::ranges::none_of(rows, [&](const CountersRow* row) { return column.text(*row).has_value(); }))
      continue;
    shown.push_back(&column);
    table.columns.push_back({column.title, Table::Align::kRight});
  }
  for (const CountersRow* const row : rows) {
    std::vector<std::string> cells = {name_width > 0 ? FittedName(Printable(row->name), name_width)
                                                     : row->name};
    for (const Column* const column : shown) cells.push_back(column->text(*row).value_or("—"));
    table.AddRow(std::move(cells));
  }
  return table;
}

// The whole method, then the operators with the most processor time; `left` is how many are not among them.
std::vector<const CountersRow*> Costliest(const std::vector<CountersRow>& all, std::size_t& left) {
  std::vector<const CountersRow*> rows;
  for (const CountersRow& row : all) {
    if (Is(row, "kernel") || Is(row, "backend")) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const CountersRow* row) { return Cost(*row); });
  left = rows.size() - std::min(rows.size(), kMostRows);
  rows.resize(rows.size() - left);
  for (const CountersRow& row : all) {
    if (Is(row, "method")) rows.insert(rows.begin(), &row);
  }
  return rows;
}

std::string LeftText(std::size_t left) {
  return fmt::format("and {} more operators in its `_counters.csv`", left);
}

}  // namespace

std::vector<ExperimentCounters> CountersOf(const RunData& run) {
  std::vector<ExperimentCounters> counters;
  std::set<std::filesystem::path> seen;
  for (const ExperimentData& data : run.experiments) {
    if (!data.counters.empty() && seen.insert(CountersFile(data)).second)
      counters.push_back({data.label, data.counters});
  }
  return counters;
}

void RenderCountersMarkdown(const std::vector<ExperimentCounters>& experiments, std::ostream& out) {
  bool begun = false;
  for (const ExperimentCounters& experiment : experiments) {
    if (experiment.rows.empty()) continue;
    if (!begun) {
      out << "\n## Counters\n\nMeans of runs of their own, in which the counters were read at every operator "
             "boundary (docs/counters.md). Misses are of 1000 instructions, stalls percent of the cycles.\n";
      begun = true;
    }
    std::size_t left = 0;
    const std::vector<const CountersRow*> rows = Costliest(experiment.rows, left);
    out << "\n### " << EscapeMarkdown(experiment.label) << "\n\n" << TableOf(rows, 0).ToMarkdown();
    if (left > 0) out << '\n' << LeftText(left) << '\n';
  }
}

void RenderCountersTerminal(const Report& report, const TerminalOptions& options, std::ostream& out) {
  constexpr int kNumbers = 48;
  out << HeaderText(report) << '\n';
  const std::vector<ExperimentCounters> counters = CountersOf(report.run);
  if (counters.empty()) {
    out << '\n';
    WriteWrapped("  ", "Nothing to show: no counters were read in this run (etprof profile --counters).", 2,
                 options.width, out);
  }
  for (const ExperimentCounters& experiment : counters) {
    std::size_t left = 0;
    const std::vector<const CountersRow*> rows = Costliest(experiment.rows, left);
    out << "\n  " << Printable(experiment.label) << "\n\n"
        << TableOf(rows, std::max(24, options.width - kNumbers)).ToText(2);
    if (left > 0) out << "\n  " << LeftText(left) << '\n';
  }
}

}  // namespace etprof
