#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "render/csv/csv_table.h"
#include "render/document.h"

namespace etprof {
namespace {

// The fields of a value: their names, behind the column's, and what stands in them.
struct Field {
  std::string suffix, text;
};
using Fields = std::vector<Field>;

struct FieldsOfValue {
  Fields operator()(const say::Nothing&) const { return {}; }
  Fields operator()(const std::string& text) const { return {{"", text}}; }
  Fields operator()(const say::Duration& duration) const {
    return {{"", MsCell(duration.ns)}, {"_unit", "ms"}};
  }
  Fields operator()(const say::Time& time) const { return {{"", MsCell(time.ns)}, {"_unit", "ms"}}; }
  Fields operator()(const say::Size& size) const {
    return {{"", NumberCell(size.bytes)}, {"_unit", "bytes"}};
  }
  Fields operator()(const say::Count& count) const { return {{"", fmt::format("{}", count.count)}}; }
  Fields operator()(const say::Amount& amount) const { return {{"", NumberCell(amount.amount)}}; }
  Fields operator()(const say::Number& number) const {
    Fields fields = {{"", NumberCell(number.value)}};
    if (number.low) fields.push_back({"_low", NumberCell(number.low)});
    if (number.high) fields.push_back({"_high", NumberCell(number.high)});
    if (!number.unit.empty()) fields.push_back({"_unit", number.unit});
    return fields;
  }
  Fields operator()(const say::Share& share) const { return {{"", NumberCell(share.share)}}; }
  Fields operator()(const say::Speedup& speedup) const {
    const auto& estimate = speedup.quantity.Told();
    return {{"", estimate ? NumberCell(estimate->ratio()) : ""},
            {"_verdict", NameOf(speedup.quantity.verdict)}};
  }
  Fields operator()(const say::Interval& interval) const {
    const auto& estimate = interval.quantity.Told();
    if (!estimate) return {};
    return {{"_low", NumberCell(estimate->low())}, {"_high", NumberCell(estimate->high())}};
  }
  Fields operator()(const say::Change& change) const {
    return {{"", NumberCell(change.change)},
            {"_low", NumberCell(change.low)},
            {"_high", NumberCell(change.high)}};
  }
};

struct CsvRow {
  const std::string* section;
  say::Row row;
};

std::optional<say::Table> TableIn(const say::Part& part) {
  if (const auto* facts = std::get_if<say::Facts>(&part)) return say::TableOf(*facts);
  const auto* table = std::get_if<say::Table>(&part);
  return table == nullptr ? std::nullopt : std::optional(*table);
}

}  // namespace

std::vector<std::string> TableIds(const say::Document& document) {
  std::vector<std::string> ids;
  for (const say::Section& section : document.sections) {
    for (const auto& part : section.parts) {
      if (const auto table = TableIn(part)) AddOnce(table->id, ids);
    }
  }
  return ids;
}

void RenderDocumentCsv(const say::Document& document, const std::string& id, std::ostream& out) {
  std::vector<say::Table::Column> columns;
  std::vector<CsvRow> rows;
  for (const say::Section& section : document.sections) {
    for (const auto& part : section.parts) {
      const auto table = TableIn(part);
      if (!table || table->id != id) continue;
      columns = table->columns;
      for (const say::Row& row : table->rows) rows.push_back({&section.title, row});
    }
  }
  if (columns.empty()) {
    throw Error(ExitCode::kUsage, fmt::format("there is no table \"{}\"", id))
        .Remedy(fmt::format("tables: {}", fmt::join(TableIds(document), ", ")));
  }
  // A column has the fields that any of its values has.
  std::vector<std::vector<std::string>> suffixes(columns.size());
  for (const CsvRow& row : rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (const Field& field : std::visit(FieldsOfValue(), row.row.cells[i].value))
        AddOnce(field.suffix, suffixes[i]);
    }
  }
  for (std::vector<std::string>& of_column : suffixes) {
    if (of_column.empty()) of_column.emplace_back();
  }
  std::vector<std::string> titles = {document.sections_are};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (const std::string& suffix : suffixes[i]) titles.push_back(columns[i].id + suffix);
  }
  CsvTable csv(out, titles);
  for (const CsvRow& row : rows) {
    std::vector<std::string> texts = {*row.section};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Fields fields = std::visit(FieldsOfValue(), row.row.cells[i].value);
      for (const std::string& suffix : suffixes[i]) {
        const auto field = std::ranges::find(fields, suffix, &Field::suffix);
        texts.push_back(field == fields.end() ? "" : field->text);
      }
    }
    csv.Row(texts);
  }
}

}  // namespace etprof
