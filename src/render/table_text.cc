#include "render/table_text.h"

#include <algorithm>
#include <cmath>

#include "say/wording.h"

namespace etprof {
namespace {

double LargestTimeOf(const say::Table& table) {
  double largest = 0;
  for (const say::Row& row : table.rows) {
    for (const say::Cell& cell : row.cells) {
      if (const auto* time = std::get_if<say::Time>(&cell.value))
        largest = std::max(largest, std::fabs(time->ns));
    }
  }
  return largest;
}

// Row by row the times of a column whose parts add up, as they are printed; "" where there is none.
std::vector<std::string> AddingUpTimes(const say::Table& table, std::size_t column, const TimeScale& scale) {
  std::vector<double> parts;
  for (const say::Row& row : table.rows) {
    if (row.role != say::Row::Role::kPart) continue;
    const auto* time = std::get_if<say::Time>(&row.cells[column].value);
    parts.push_back(time != nullptr ? time->ns : 0);
  }
  const std::vector<std::int64_t> units = AddingUpUnits(parts, scale);
  std::vector<std::string> texts;
  std::int64_t sum = 0;
  std::size_t part = 0;
  for (const say::Row& row : table.rows) {
    const auto* time = std::get_if<say::Time>(&row.cells[column].value);
    std::string text;
    if (row.role == say::Row::Role::kPart) {
      sum += units[part];
      text = scale.OfUnits(units[part], parts[part]);
      ++part;
    } else if (row.role == say::Row::Role::kSum) {
      text = scale.OfUnits(sum);
    }
    texts.push_back(time != nullptr ? text : "");
  }
  return texts;
}

}  // namespace

TableText TextOf(const say::Table& table) {
  TableText text;
  const double largest = LargestTimeOf(table);
  const TimeScale scale = ScaleFor(table.largest_ns.value_or(largest), table.largest_ns.value_or(largest));
  for (const say::Table::Column& column : table.columns) text.titles.push_back(column.title);
  if (largest > 0) text.titles.front() += (text.titles.front().empty() ? "" : ", ") + std::string(scale.unit);
  text.rows.resize(table.rows.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::vector<std::string> adding_up = AddingUpTimes(table, c, scale);
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const say::Cell& cell = table.rows[r].cells[c];
      TableText::Cell& shown = text.rows[r].emplace_back();
      shown.tone = ToneOf(cell);
      const auto* time = std::get_if<say::Time>(&cell.value);
      const auto* share = std::get_if<say::Share>(&cell.value);
      if (!adding_up[r].empty()) {
        shown.text = adding_up[r];
      } else {
        shown.text = time != nullptr ? scale.Number(time->ns) : say::TextOf(cell);
      }
      if (share != nullptr && table.columns[c].bars) shown.bar = share->share;
    }
  }
  return text;
}

}  // namespace etprof
