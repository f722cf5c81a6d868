#include "show/formats/printed_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "show/wording.h"

namespace etprof {
namespace {

using Role = show::Row::Role;

// The cell's time; null if the cell is not a time.
const double* GetTime(const show::Cell& cell) {
  return cell.kind == CellKind::kTime ? &*cell.value : nullptr;
}
bool IsTimeBounds(const show::Cell& cell) { return cell.kind == CellKind::kInterval && !cell.unit.empty(); }

double LargestTime(const show::Table& table) {
  double largest = 0;
  for (const show::Row& row : table.rows) {
    for (const show::Cell& cell : row.cells) {
      if (const double* time = GetTime(cell)) largest = std::max(largest, std::fabs(*time));
      if (IsTimeBounds(cell)) largest = std::max(largest, std::fabs(*cell.high));
    }
  }
  return largest;
}

std::string TextInScale(const TimeScale& scale, const show::Cell& cell) {
  if (const double* time = GetTime(cell)) return scale.Number(*time);
  if (IsTimeBounds(cell)) return "[" + scale.Number(*cell.low) + ", " + scale.Number(*cell.high) + "]";
  return show::ToText(cell);
}

// The printed times of a column whose parts add up, row by row; "" in rows without a time.
std::vector<std::string> FormatSummedTimes(const show::Table& table, std::size_t column,
                                           const TimeScale& scale) {
  std::vector<std::vector<double>> groups(1);  // parts up to each sum
  for (const show::Row& row : table.rows) {
    const auto* time = GetTime(row.cells[column]);
    if (row.role == Role::kPart) groups.back().push_back(time != nullptr ? *time : 0);
    if (row.role == Role::kSum) groups.emplace_back();
  }
  const std::vector<std::int64_t> units = RoundToUnits(groups, scale);
  std::vector<std::string> texts;
  std::int64_t sum = 0, rest = 0;
  std::size_t part = 0;
  for (const show::Row& row : table.rows) {
    const auto* time = GetTime(row.cells[column]);
    std::optional<std::int64_t> printed;
    if (row.role == Role::kPart) {
      printed = units[part++];
      sum += *printed;
      if (row.visibility > show::Visibility::kDefault) rest += *printed;
    } else if (row.role == Role::kSum) {
      printed = sum;
    } else if (row.role == Role::kScreenOnly) {
      printed = rest;
    }
    texts.push_back(time != nullptr && printed ? scale.FormatUnits(*printed, *time) : "");
  }
  return texts;
}

// True if a speedup contradicts the two times before it as they are printed: "0.009  0.010  1.07x".
bool IsContradicted(const show::Row& row, std::size_t column) {
  if (row.cells[column].kind != CellKind::kSpeedup) return false;
  std::vector<const show::Cell*> times;
  for (std::size_t c = 0; c < column; ++c) {
    if (row.cells[c].kind == CellKind::kTime) times.push_back(&row.cells[c]);
  }
  if (times.size() < 2) return false;
  const double baseline = *times[0]->value, candidate = *times[1]->value;
  const bool same_text = times[0]->text == times[1]->text;
  const stats::Verdict verdict = row.cells[column].time_comparison.verdict;
  return (verdict == stats::Verdict::kFaster && (same_text || baseline <= candidate)) ||
         (verdict == stats::Verdict::kSlower && (same_text || baseline >= candidate));
}

// Moves the unit to the row's name, if all values of the row have the same unit: "Load | 8.25 ms | 7.80 ms"
// becomes "Load, ms | 8.25 | 7.80".
void MoveUnitToName(show::Row& row) {
  std::string unit;
  std::vector<std::string*> texts;
  for (show::Cell& cell : row.cells) {
    if (cell.kind != CellKind::kDuration && cell.kind != CellKind::kSize) continue;
    const std::size_t blank = cell.text.rfind(' ');
    if (blank == std::string::npos) return;
    const std::string cell_unit = cell.text.substr(blank + 1);
    if (!unit.empty() && unit != cell_unit) return;
    unit = cell_unit;
    texts.push_back(&cell.text);
  }
  for (std::string* const text : texts) text->resize(text->rfind(' '));
  if (!unit.empty()) row.cells.front().text += ", " + unit;
}

}  // namespace

show::Table PrintedTable(const show::Table& table, std::size_t max_rows,
                         const std::function<bool(const show::Row&)>& is_shown) {
  show::Table printed = table;
  printed.rows.clear();
  const double largest = LargestTime(table);
  const show::TimeRange time_range = table.time_range.value_or(show::TimeRange{largest, largest});
  const TimeScale scale = ScaleFor(time_range.smallest_ns, time_range.largest_ns);
  std::vector<std::vector<std::string>> summed_texts;  // indexed by column, then by row
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    summed_texts.push_back(FormatSummedTimes(table, c, scale));
  std::string& first_title = printed.columns.front().title;
  if (largest > 0) first_title += (first_title.empty() ? "" : ", ") + std::string(scale.unit);
  const bool has_rest =
      std::ranges::any_of(table.rows, [](const auto& row) { return row.role == Role::kScreenOnly; });
  std::vector<double> hidden_sums(table.columns.size());
  std::size_t num_omitted = 0;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    show::Row row = table.rows[r];
    const bool in_table = printed.rows.size() < max_rows && is_shown(row);
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      show::Cell& cell = row.cells[c];
      const double* const time = GetTime(cell);
      if (time != nullptr && !in_table) hidden_sums[c] += *time;
      if (table.columns[c].has_bars && cell.kind == CellKind::kShare) cell.bar = cell.value;
      if (table.columns[c].has_bars && time != nullptr && largest > 0) cell.bar = *time / largest;
      cell.text = summed_texts[c][r].empty() ? TextInScale(scale, cell) : summed_texts[c][r];
      cell.tone = GetTone(cell);
      if (IsContradicted(row, c)) cell.visibility = show::Visibility::kPage;
    }
    if (table.units_by_row) MoveUnitToName(row);
    if (in_table) {
      printed.rows.push_back(std::move(row));
    } else if (!has_rest) {
      ++num_omitted;
    }
  }
  if (num_omitted == 0) return printed;
  printed.omitted_rows = fmt::format("and {} more", num_omitted);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].has_hidden_sum)
      printed.omitted_rows += fmt::format(" ({} {})", table.columns[c].title, scale.Text(hidden_sums[c]));
  }
  return printed;
}

show::Table PrintedTable(const show::Table& table) {
  return PrintedTable(table, SIZE_MAX, [](const show::Row& row) { return row.role != Role::kScreenOnly; });
}

}  // namespace etprof
