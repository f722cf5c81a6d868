#include "render/table_text.h"

#include <fmt/format.h>

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

TableText TextOf(const say::Table& table, std::size_t most,
                 const std::function<bool(const say::Row&)>& shows) {
  TableText text;
  const double largest = LargestTimeOf(table);
  const TimeScale scale = ScaleFor(table.largest_ns.value_or(largest), table.largest_ns.value_or(largest));
  std::vector<std::vector<std::string>> adding_up;  // column by column
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    text.titles.push_back(table.columns[c].title);
    adding_up.push_back(AddingUpTimes(table, c, scale));
  }
  if (largest > 0) text.titles.front() += (text.titles.front().empty() ? "" : ", ") + std::string(scale.unit);
  std::vector<double> rest(table.columns.size());
  std::size_t left = 0;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const say::Row& row = table.rows[r];
    const bool shown = text.rows.size() < most && shows(row);
    std::vector<TableText::Cell> cells;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const say::Cell& cell = row.cells[c];
      const auto* time = std::get_if<say::Time>(&cell.value);
      const auto* share = std::get_if<say::Share>(&cell.value);
      if (time != nullptr && !shown) rest[c] += time->ns;
      const std::string words = time != nullptr ? scale.Number(time->ns) : say::TextOf(cell);
      cells.push_back(
          {adding_up[c][r].empty() ? words : adding_up[c][r], ToneOf(cell),
           share != nullptr && table.columns[c].bars ? std::optional(share->share) : std::nullopt});
    }
    if (shown) {
      text.rows.push_back({std::move(cells), row.depth});
    } else {
      ++left;
    }
  }
  if (left == 0) return text;
  text.left = fmt::format("and {} more", left);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].sums)
      text.left += fmt::format(" ({} {})", table.columns[c].title, scale.Text(rest[c]));
  }
  return text;
}

TableText TextOf(const say::Table& table) {
  return TextOf(table, SIZE_MAX, [](const say::Row&) { return true; });
}

}  // namespace etprof
