#include "render/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "say/wording.h"

namespace etprof {
namespace {

using Role = say::Row::Role;

// Null if the cell is not a time.
const double* TimeOfCell(const say::Cell& cell) {
  return cell.kind == CellKind::kTime ? &*cell.value : nullptr;
}
bool IsTimeBounds(const say::Cell& cell) { return cell.kind == CellKind::kInterval && !cell.unit.empty(); }

double LargestTime(const say::Table& table) {
  double largest = 0;
  for (const say::Row& row : table.rows) {
    for (const say::Cell& cell : row.cells) {
      if (const double* time = TimeOfCell(cell)) largest = std::max(largest, std::fabs(*time));
      if (IsTimeBounds(cell)) largest = std::max(largest, std::fabs(*cell.high));
    }
  }
  return largest;
}

std::string TextInScale(const TimeScale& scale, const say::Cell& cell) {
  if (const double* time = TimeOfCell(cell)) return scale.Number(*time);
  if (IsTimeBounds(cell)) return "[" + scale.Number(*cell.low) + ", " + scale.Number(*cell.high) + "]";
  return say::TextOf(cell);
}

// The printed times of a column whose parts add up, row by row; "" in rows without a time.
std::vector<std::string> TextsOfAddingUpTimes(const say::Table& table, std::size_t column,
                                              const TimeScale& scale) {
  std::vector<std::vector<double>> groups(1);  // parts up to each sum
  for (const say::Row& row : table.rows) {
    const auto* time = TimeOfCell(row.cells[column]);
    if (row.role == Role::kPart) groups.back().push_back(time != nullptr ? *time : 0);
    if (row.role == Role::kSum) groups.emplace_back();
  }
  const std::vector<std::int64_t> units = RoundToUnits(groups, scale);
  std::vector<std::string> texts;
  std::int64_t sum = 0, rest = 0;
  std::size_t part = 0;
  for (const say::Row& row : table.rows) {
    const auto* time = TimeOfCell(row.cells[column]);
    std::string text;
    if (row.role == Role::kPart) {
      sum += units[part];
      if (row.level > say::Level::kUsual) rest += units[part];
      text = scale.FormatUnits(units[part], time != nullptr ? *time : 0);
      ++part;
    } else if (row.role == Role::kSum) {
      text = scale.FormatUnits(sum);
    } else if (row.role == Role::kRest && time != nullptr) {
      text = scale.FormatUnits(rest, *time);
    }
    texts.push_back(time != nullptr ? text : "");
  }
  return texts;
}

// Whether a speedup contradicts the two times before it as they are printed: "0.009  0.010  1.07x".
bool IsContradicted(const say::Row& row, const std::vector<TableText::Cell>& printed, std::size_t column) {
  if (row.cells[column].kind != CellKind::kSpeedup) return false;
  std::vector<std::size_t> times;
  for (std::size_t c = 0; c < column; ++c) {
    if (TimeOfCell(row.cells[c]) != nullptr) times.push_back(c);
  }
  if (times.size() < 2) return false;
  const double before = *TimeOfCell(row.cells[times[0]]), after = *TimeOfCell(row.cells[times[1]]);
  const bool alike = printed[times[0]].text == printed[times[1]].text;
  const stats::Verdict verdict = row.cells[column].quantity.verdict;
  return (verdict == stats::Verdict::kFaster && (alike || before <= after)) ||
         (verdict == stats::Verdict::kSlower && (alike || before >= after));
}

// Moves the unit to the row's name, if all values of the row have the same unit: "Load | 8.25 ms | 7.80 ms"
// becomes "Load, ms | 8.25 | 7.80".
void MoveUnitToName(const say::Row& row, std::vector<TableText::Cell>& cells) {
  std::string unit;
  std::vector<std::size_t> with_unit;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const CellKind kind = row.cells[c].kind;
    if (kind != CellKind::kDuration && kind != CellKind::kSize) continue;
    const std::size_t blank = cells[c].text.rfind(' ');
    if (blank == std::string::npos) return;
    const std::string own = cells[c].text.substr(blank + 1);
    if (!unit.empty() && unit != own) return;
    unit = own;
    with_unit.push_back(c);
  }
  for (const std::size_t c : with_unit) cells[c].text.resize(cells[c].text.rfind(' '));
  if (!unit.empty()) cells.front().text += ", " + unit;
}

}  // namespace

TableText TextOf(const say::Table& table, std::size_t most,
                 const std::function<bool(const say::Row&)>& shows) {
  TableText text;
  const double largest = LargestTime(table);
  const say::Span span = table.span.value_or(say::Span{largest, largest});
  const TimeScale scale = ScaleFor(span.smallest_ns, span.largest_ns);
  std::vector<std::vector<std::string>> adding_up;  // indexed by column, then by row
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    text.titles.push_back(table.columns[c].title);
    adding_up.push_back(TextsOfAddingUpTimes(table, c, scale));
  }
  if (largest > 0) text.titles.front() += (text.titles.front().empty() ? "" : ", ") + std::string(scale.unit);
  const bool has_rest =
      std::ranges::any_of(table.rows, [](const auto& row) { return row.role == Role::kRest; });
  std::vector<double> rest(table.columns.size());
  std::size_t left = 0;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const say::Row& row = table.rows[r];
    const bool shown = text.rows.size() < most && shows(row);
    std::vector<TableText::Cell> cells;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const say::Cell& cell = row.cells[c];
      const auto* time = TimeOfCell(cell);
      if (time != nullptr && !shown) rest[c] += *time;
      std::optional<double> bar;
      if (table.columns[c].bars && cell.kind == CellKind::kShare) bar = cell.value;
      if (table.columns[c].bars && time != nullptr && largest > 0) bar = *time / largest;
      cells.push_back({adding_up[c][r].empty() ? TextInScale(scale, cell) : adding_up[c][r], ToneOf(cell),
                       bar, cell.level <= say::Level::kUsual && !IsContradicted(row, cells, c)});
    }
    if (table.units_by_row) MoveUnitToName(row, cells);
    if (shown) {
      text.rows.push_back({std::move(cells), row.depth});
    } else if (!has_rest) {
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
  return TextOf(table, SIZE_MAX, [](const say::Row& row) { return row.role != Role::kRest; });
}

}  // namespace etprof
