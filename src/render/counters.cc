#include "render/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/escape.h"
#include "core/table.h"
#include "core/units.h"
#include "render/screen_table.h"
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

// The columns that any row has.
Table TableOf(const std::vector<const CountersRow*>& rows) {
  Table table{{{"operator"}}, {}};
  std::vector<const Column*> shown;
  for (const Column& column : Columns()) {
    if (std::ranges::none_of(rows, [&](const CountersRow* row) { return column.text(*row).has_value(); }))
      continue;
    shown.push_back(&column);
    table.columns.push_back({column.title, Table::Align::kRight});
  }
  for (const CountersRow* const row : rows) {
    std::vector<std::string> cells = {row->name};
    for (const Column* const column : shown) cells.push_back(column->text(*row).value_or("—"));
    table.AddRow(std::move(cells));
  }
  return table;
}

// For the screen: where it is too narrow, the last columns go first.
ScreenTable ScreenTableOf(const std::vector<const CountersRow*>& rows) {
  const Table table = TableOf(rows);
  ScreenTable screen;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const int goes = i < 2 ? 0 : static_cast<int>(table.columns.size() - i);
    screen.columns.push_back({table.columns[i].title, table.columns[i].align == Table::Align::kRight, goes});
  }
  for (const auto& cells : table.rows) {
    auto& row = screen.rows.emplace_back();
    for (const std::string& cell : cells) row.push_back({OneLine(cell)});
  }
  return screen;
}

// The whole method, then the operators with the most processor time; `left` is how many are not among the
// first `most`.
std::vector<const CountersRow*> Costliest(const std::vector<CountersRow>& all, std::size_t most,
                                          std::size_t& left) {
  std::vector<const CountersRow*> rows;
  for (const CountersRow& row : all) {
    if (Is(row, "kernel") || Is(row, "backend")) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const CountersRow* row) { return Cost(*row); });
  left = rows.size() - std::min(rows.size(), most);
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

void RenderCountersMarkdown(const std::vector<ExperimentCounters>& experiments, markdown::Out& out) {
  bool begun = false;
  for (const ExperimentCounters& experiment : experiments) {
    if (experiment.rows.empty()) continue;
    if (!begun) {
      out << "\n## Counters\n\nMeans of runs of their own, in which the counters were read at every operator "
             "boundary (docs/counters.md). Misses are of 1000 instructions, stalls percent of the cycles.\n";
      begun = true;
    }
    std::size_t left = 0;
    const std::vector<const CountersRow*> rows = Costliest(experiment.rows, kMostRows, left);
    out << "\n### " << experiment.label << "\n\n" << TableOf(rows);
    if (left > 0) out << '\n' << LeftText(left) << '\n';
  }
}

void DrawCounters(const Report& report, const TerminalOptions& options, std::ostream& out) {
  for (const ExperimentCounters& experiment : CountersOf(report.run)) {
    std::size_t left = 0;
    const std::size_t most = options.all ? experiment.rows.size() : kMostRows;
    const std::vector<const CountersRow*> rows = Costliest(experiment.rows, most, left);
    out << "\n  " << OneLine(experiment.label) << "\n\n";
    ScreenTableOf(rows).Draw(options, out);
    if (left > 0) out << "\n  " << LeftText(left) << '\n';
  }
}

void RenderCountersTerminal(const Report& report, const TerminalOptions& options, std::ostream& out) {
  DrawOn(options, out, [&](const TerminalOptions& on, std::ostream& text) {
    text << OneLine(HeaderText(report)) << '\n';
    DrawCounters(report, on, text);
    if (!CountersOf(report.run).empty()) return;
    text << '\n';
    WriteWrapped("  ", "Nothing to show: no counters were read in this run (etprof profile --counters).", 2,
                 on.width, text);
  });
}

}  // namespace etprof
