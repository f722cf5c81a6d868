#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text/escape.h"
#include "core/text/text.h"
#include "core/views.h"
#include "show/formats.h"

namespace etprof {
namespace {

// The shortest text that parses back to the same double; empty if undefined.
std::string NumberCell(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}
std::string MsCell(const std::optional<double>& ns) { return ns ? NumberCell(*ns / 1e6) : ""; }

std::string CsvLine(const std::vector<std::string>& cells) {
  return fmt::format("{}\n", fmt::join(MapEach(cells, CsvField), ","));
}

// The CSV fields of one cell: each suffix is appended to the column's id to form the field's name.
struct Field {
  std::string suffix, text;
};
using Fields = std::vector<Field>;

Fields MakeFields(const show::Value& value) {
  if (value.kind == CellKind::kNoValue) return {};
  if (value.kind == CellKind::kText) return value.text.empty() ? Fields() : Fields{{"", value.text}};
  const auto number = value.unit == "ns" ? MsCell : NumberCell;
  const bool is_interval =
      value.kind == CellKind::kInterval;  // the interval of the value in the column with the same id
  const bool is_speedup = value.kind == CellKind::kSpeedup;  // a speedup's interval has a separate column
  const bool has_bounds = is_interval || value.kind == CellKind::kChange;
  Fields fields;
  if (!is_interval) fields.push_back({"", number(value.value)});
  if (is_speedup) fields.push_back({"_verdict", value.Verdict()});
  if (value.efficiency) fields.push_back({"_efficiency", NumberCell(value.efficiency)});
  if (has_bounds || (value.low && !is_speedup)) fields.push_back({"_low", number(value.low)});
  if (has_bounds || (value.high && !is_speedup)) fields.push_back({"_high", number(value.high)});
  if (!value.unit.empty()) fields.push_back({"_unit", value.unit == "ns" ? "ms" : value.unit});
  return fields;
}

struct CsvRow {
  std::string section;  // title of the section; of its table if the section has none
  show::Row row;
};

std::optional<show::Table> GetTable(const show::Part& part) {
  if (const auto* facts = std::get_if<show::Facts>(&part)) return show::MakeFactsTable(*facts);
  const auto* table = std::get_if<show::Table>(&part);
  return table == nullptr ? std::nullopt : std::optional(*table);
}

}  // namespace

std::vector<std::string> TableIds(const show::Document& document) {
  std::vector<std::string> ids;
  for (const show::Section* const section : show::AllSections(document)) {
    for (const auto& part : section->parts) {
      if (const auto table = GetTable(part)) AppendUnique(table->id, ids);
    }
  }
  return ids;
}

void RequireTableId(const std::string& table, const std::vector<std::string>& ids) {
  if (std::ranges::find(ids, table) != ids.end()) return;
  throw Error(ExitCode::kUsage, fmt::format("`--csv` does not take `{}`", table))
      .Remedy(fmt::format("give one of {}", fmt::join(ids, ", ")));
}

void RenderDocumentCsv(const show::Document& document, const std::string& id, std::ostream& out) {
  RequireTableId(id, TableIds(document));
  std::vector<show::Table::Column> columns;
  std::vector<CsvRow> rows;
  for (const show::Section* const section : show::AllSections(document)) {
    for (const auto& part : section->parts) {
      const auto table = GetTable(part);
      if (!table || table->id != id) continue;
      columns = table->columns;
      for (const show::Row& row : table->rows) {
        if (row.role != show::Row::Role::kScreenOnly)
          rows.push_back({section->title.empty() ? table->title : section->title, row});
      }
    }
  }
  // A column gets the fields that any of its values has.
  std::vector<std::vector<std::string>> suffixes(columns.size());
  for (const CsvRow& row : rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (const Field& field : MakeFields(row.row.cells[i])) AppendUnique(field.suffix, suffixes[i]);
    }
  }
  // A column without any value still gets its plain title, unless another column has the same id.
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (suffixes[i].empty() && std::ranges::count(columns, columns[i].id, &show::Table::Column::id) == 1)
      suffixes[i].emplace_back();
  }
  const bool has_titles = std::ranges::any_of(
      show::AllSections(document), [](const show::Section* section) { return !section->title.empty(); });
  std::string section_kind = document.section_kind;
  // A table that has a column of that kind itself keeps the name for it.
  if ((section_kind.empty() && has_titles) ||
      std::ranges::find(columns, section_kind, &show::Table::Column::id) != columns.end())
    section_kind = "section";
  std::vector<std::string> titles;
  if (!section_kind.empty()) titles.push_back(section_kind);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::erase_if(suffixes[i], [&](const std::string& suffix) {
      std::string title = columns[i].id + suffix;
      // A value and its interval have the same id and unit. A text in place of the interval is a note on the
      // value.
      const bool is_repeated = std::ranges::find(titles, title) != titles.end();
      if (is_repeated && !suffix.empty()) return true;
      titles.push_back(is_repeated ? title + "_note" : title);
      return false;
    });
  }
  out << CsvLine(titles);
  for (const CsvRow& row : rows) {
    std::vector<std::string> texts;
    if (!section_kind.empty()) texts.push_back(row.section);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Fields fields = MakeFields(row.row.cells[i]);
      for (const std::string& suffix : suffixes[i]) {
        const auto field = std::ranges::find(fields, suffix, &Field::suffix);
        texts.push_back(field == fields.end() ? "" : field->text);
      }
    }
    out << CsvLine(texts);
  }
}

}  // namespace etprof
