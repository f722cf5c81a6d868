#include "show/formats/printed_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "show/wording.h"

namespace etprof {
namespace {

using Role = show::Row::Role;

// Null if the cell is not a time.
const double* TimeOfCell(const show::Cell& cell) {
  return cell.kind == CellKind::kTime ? &*cell.value : nullptr;
}
bool IsTimeBounds(const show::Cell& cell) { return cell.kind == CellKind::kInterval && !cell.unit.empty(); }

double LargestTime(const show::Table& table) {
  double largest = 0;
  for (const show::Row& row : table.rows) {
    for (const show::Cell& cell : row.cells) {
      if (const double* time = TimeOfCell(cell)) largest = std::max(largest, std::fabs(*time));
      if (IsTimeBounds(cell)) largest = std::max(largest, std::fabs(*cell.high));
    }
  }
  return largest;
}

std::string TextInScale(const TimeScale& scale, const show::Cell& cell) {
  if (const double* time = TimeOfCell(cell)) return scale.Number(*time);
  if (IsTimeBounds(cell)) return "[" + scale.Number(*cell.low) + ", " + scale.Number(*cell.high) + "]";
  return show::TextOf(cell);
}

// The printed times of a column whose parts add up, row by row; "" in rows without a time.
std::vector<std::string> TextsOfAddingUpTimes(const show::Table& table, std::size_t column,
                                              const TimeScale& scale) {
  std::vector<std::vector<double>> groups(1);  // parts up to each sum
  for (const show::Row& row : table.rows) {
    const auto* time = TimeOfCell(row.cells[column]);
    if (row.role == Role::kPart) groups.back().push_back(time != nullptr ? *time : 0);
    if (row.role == Role::kSum) groups.emplace_back();
  }
  const std::vector<std::int64_t> units = RoundToUnits(groups, scale);
  std::vector<std::string> texts;
  std::int64_t sum = 0, rest = 0;
  std::size_t part = 0;
  for (const show::Row& row : table.rows) {
    const auto* time = TimeOfCell(row.cells[column]);
    std::string text;
    if (row.role == Role::kPart) {
      sum += units[part];
      if (row.level > show::Level::kUsual) rest += units[part];
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
bool IsContradicted(const show::Row& row, std::size_t column) {
  if (row.cells[column].kind != CellKind::kSpeedup) return false;
  std::vector<const show::Cell*> times;
  for (std::size_t c = 0; c < column; ++c) {
    if (row.cells[c].kind == CellKind::kTime) times.push_back(&row.cells[c]);
  }
  if (times.size() < 2) return false;
  const double before = *times[0]->value, after = *times[1]->value;
  const bool alike = times[0]->text == times[1]->text;
  const stats::Verdict verdict = row.cells[column].quantity.verdict;
  return (verdict == stats::Verdict::kFaster && (alike || before <= after)) ||
         (verdict == stats::Verdict::kSlower && (alike || before >= after));
}

// Moves the unit to the row's name, if all values of the row have the same unit: "Load | 8.25 ms | 7.80 ms"
// becomes "Load, ms | 8.25 | 7.80".
void MoveUnitToName(show::Row& row) {
  std::string unit;
  std::vector<std::string*> with_unit;
  for (show::Cell& cell : row.cells) {
    if (cell.kind != CellKind::kDuration && cell.kind != CellKind::kSize) continue;
    const std::size_t blank = cell.text.rfind(' ');
    if (blank == std::string::npos) return;
    const std::string own = cell.text.substr(blank + 1);
    if (!unit.empty() && unit != own) return;
    unit = own;
    with_unit.push_back(&cell.text);
  }
  for (std::string* const text : with_unit) text->resize(text->rfind(' '));
  if (!unit.empty()) row.cells.front().text += ", " + unit;
}

}  // namespace

show::Table PrintedTable(const show::Table& table, std::size_t most,
                         const std::function<bool(const show::Row&)>& shows) {
  show::Table printed = table;
  printed.rows.clear();
  const double largest = LargestTime(table);
  const show::Span span = table.span.value_or(show::Span{largest, largest});
  const TimeScale scale = ScaleFor(span.smallest_ns, span.largest_ns);
  std::vector<std::vector<std::string>> adding_up;  // indexed by column, then by row
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    adding_up.push_back(TextsOfAddingUpTimes(table, c, scale));
  std::string& first_title = printed.columns.front().title;
  if (largest > 0) first_title += (first_title.empty() ? "" : ", ") + std::string(scale.unit);
  const bool has_rest =
      std::ranges::any_of(table.rows, [](const auto& row) { return row.role == Role::kRest; });
  std::vector<double> rest(table.columns.size());
  std::size_t left = 0;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    show::Row row = table.rows[r];
    const bool shown = printed.rows.size() < most && shows(row);
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      show::Cell& cell = row.cells[c];
      const double* const time = TimeOfCell(cell);
      if (time != nullptr && !shown) rest[c] += *time;
      if (table.columns[c].bars && cell.kind == CellKind::kShare) cell.bar = cell.value;
      if (table.columns[c].bars && time != nullptr && largest > 0) cell.bar = *time / largest;
      cell.text = adding_up[c][r].empty() ? TextInScale(scale, cell) : adding_up[c][r];
      cell.tone = ToneOf(cell);
      if (IsContradicted(row, c)) cell.level = show::Level::kPage;
    }
    if (table.units_by_row) MoveUnitToName(row);
    if (shown) {
      printed.rows.push_back(std::move(row));
    } else if (!has_rest) {
      ++left;
    }
  }
  if (left == 0) return printed;
  printed.omitted_rows = fmt::format("and {} more", left);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].sums)
      printed.omitted_rows += fmt::format(" ({} {})", table.columns[c].title, scale.Text(rest[c]));
  }
  return printed;
}

show::Table PrintedTable(const show::Table& table) {
  return PrintedTable(table, SIZE_MAX, [](const show::Row& row) { return row.role != Role::kRest; });
}

show::Cell PrintedCell(const show::Value& of, const std::optional<show::Span>& span) {
  show::Cell cell(of);
  cell.text = TextOf(show::Text(of), span);
  cell.tone = ToneOf(cell);
  return cell;
}

}  // namespace etprof
