#include "render/csv/csv_table.h"
#include "render/csv/table_csv.h"

namespace etprof {
namespace {

void AddQuantity(const std::optional<Quantity>& quantity, std::vector<std::string>& cells) {
  const auto told = quantity ? quantity->Told() : std::nullopt;
  cells.push_back(told ? NumberCell(told->ratio()) : "");
  cells.push_back(told ? NumberCell(told->low()) : "");
  cells.push_back(told ? NumberCell(told->high()) : "");
  cells.emplace_back(quantity ? NameOf(quantity->verdict) : "");
}

}  // namespace

void RenderLadderCsv(const Report& report, std::ostream& out) {
  std::vector<std::string> columns = {"model_id", "level", "threads", "what", "name", "key", "ms"};
  for (const char* against : {"over_below", "over_lowest", "over_fewest_threads"}) {
    for (const char* column : {"", "_low", "_high", "_verdict"})
      columns.push_back(std::string(against) + column);
  }
  columns.emplace_back("efficiency");
  CsvTable table(out, columns);
  if (!report.ladder) return;
  const Ladder& ladder = *report.ladder;
  const auto add = [&](const char* what, const LadderRow& row) {
    for (std::size_t t = 0; t < ladder.threads.size(); ++t) {
      for (std::size_t l = 0; l < ladder.levels.size(); ++l) {
        const LadderCell& cell = row.cells[t][l];
        const Operator* op = nullptr;
        if (cell.op) op = &report.experiments[*ladder.experiments[t][l]].profile->operators[*cell.op];
        std::vector<std::string> cells = {report.model_id,
                                          ladder.levels[l].name,
                                          std::to_string(ladder.threads[t]),
                                          what,
                                          op != nullptr ? op->name : row.name,
                                          op != nullptr ? KeyText(op->key) : "",
                                          MsCell(cell.ns)};
        AddQuantity(cell.over_below, cells);
        AddQuantity(cell.over_lowest, cells);
        AddQuantity(cell.over_fewest, cells);
        cells.push_back(NumberCell(EfficiencyAt(ladder, row, {l, t})));
        table.Row(cells);
      }
    }
  };
  add("latency", ladder.latency);
  for (const LadderRow& row : ladder.groups) add("group", row);
  for (const LadderRow& row : ladder.categories) add("category", row);
  for (const LadderRow& row : ladder.operators) add("operator", row);
}

}  // namespace etprof
