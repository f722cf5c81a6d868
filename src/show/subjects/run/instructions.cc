#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenInstructionRows = 20;

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
    for (auto& [kind, count] : overhead.kinds) count -= row.Kind(kind).value_or(0);
  }
  rows.insert(rows.begin(), *method);
  rows.push_back(std::move(overhead));
  return rows;
}

Table MakeInstructionsTable(const std::vector<InstructionsRow>& counted) {
  const std::vector<InstructionsRow> rows = OrderRows(counted);
  Table table{.id = "instructions",
              .columns = {Left("operator"), Right("instructions"), Right("share", "% of all")}};
  const double whole = rows.empty() ? 0 : rows.front().instructions;
  for (const InstructionsRow& row : rows)
    table.rows.push_back(
        {row.name, Amount(row.instructions), Share{whole > 0 ? row.instructions / whole : 0}});
  int drop_priority = static_cast<int>(std::size(kKinds));
  for (const KindColumn& kind : kKinds) {
    const auto count = [&](const InstructionsRow& row) { return row.Kind(kind.counter).value_or(0); };
    --drop_priority;
    if (std::ranges::all_of(rows, [&](const InstructionsRow& row) { return count(row) == 0; })) continue;
    table.columns.push_back({kind.counter, kind.title, true, drop_priority});
    for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].cells.emplace_back(Amount(count(rows[i])));
  }
  table.screen_rows = kScreenInstructionRows + 1;
  table.hidden_rows_hint = "in its `_instructions.csv`";
  return table;
}

}  // namespace

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
