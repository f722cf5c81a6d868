#include "show/formats/screen/screen_table.h"

#include <algorithm>
#include <utility>

#include "core/text/escape.h"

namespace etprof {
namespace {

constexpr int kMinNameWidth = 16;
constexpr int kMinTextWidth = 12;  // minimum width of texts next to columns with `never_dropped`
constexpr int kMinBarColumns = 4, kMaxBarColumns = 16;

}  // namespace

std::string_view ToneColor(show::Tone tone) {
  return tone == show::Tone::kGood      ? sgr::kGreen
         : tone == show::Tone::kBad     ? sgr::kRed
         : tone == show::Tone::kUnsure  ? sgr::kYellow
         : tone == show::Tone::kUnknown ? sgr::kDim
                                        : "";
}

std::string Truncate(const std::string& text, int columns, show::Table::Truncation truncation) {
  switch (truncation) {
    case show::Table::Truncation::kKeepEnd:
      return TruncateBeginning(text, columns);
    case show::Table::Truncation::kKeepNameEnds:
      return TruncateOperatorName(text, columns);
    case show::Table::Truncation::kKeepDifference:
      return ShortenNames({text}, columns).front();
    case show::Table::Truncation::kKeepBeginning:
      break;
  }
  return TruncateEnd(text, columns);
}

int ScreenTable::ColumnWidth(std::size_t column) const {
  int width = DisplayWidth(columns[column].title);
  for (const auto& row : rows) width = std::max(width, DisplayWidth(row.cells[column].text));
  return width;
}

int ScreenTable::Width() const {
  int width = 2 + std::min(ColumnWidth(0), min_name_width);
  for (std::size_t i = 1; i < columns.size(); ++i) width += 2 + ColumnWidth(i);
  return width;
}

void ScreenTable::DropColumn(std::size_t column) {
  // The next column takes over the title if it belongs to the dropped column.
  if (column + 1 < columns.size() && columns[column + 1].title.empty())
    columns[column + 1].title = columns[column].title;
  EraseColumn(column);
}

void ScreenTable::EraseColumn(std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  columns.erase(columns.begin() + at);
  for (show::Row& row : rows) row.cells.erase(row.cells.begin() + at);
}

void ScreenTable::MakeRoom(int width) {
  while (Width() > width) {
    std::size_t dropped = 0;
    for (std::size_t i = 1; i < columns.size(); ++i) {
      const int drop_priority = columns[i].never_dropped ? 0 : columns[i].drop_priority;
      if (drop_priority > 0 && (dropped == 0 || drop_priority < columns[dropped].drop_priority)) dropped = i;
    }
    if (dropped == 0) break;
    DropColumn(dropped);
  }
  if (std::ranges::none_of(columns, &Column::never_dropped)) return;
  for (std::size_t i = columns.size(); i-- > 1;) {
    const int excess = Width() - width, widest = ColumnWidth(i);
    if (excess <= 0) return;
    if (columns[i].align_right || columns[i].never_dropped || widest <= kMinTextWidth) continue;
    std::vector<std::string> texts;
    for (const auto& row : rows) texts.push_back(row.cells[i].text);
    texts = ShortenNames(std::move(texts), std::max(kMinTextWidth, widest - excess));
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].cells[i].text = std::move(texts[r]);
  }
  for (std::size_t i = columns.size(); i-- > 1 && Width() > width;)
    if (!columns[i].never_dropped) DropColumn(i);
}

std::size_t ScreenTable::Draw(const TerminalOptions& options, std::ostream& out) const {
  ScreenTable table = *this;
  if (!options.all) table.MakeRoom(options.width);
  return columns.size() - table.columns.size() + table.DrawFitted(options, out);
}

std::size_t ScreenTable::DrawFitted(const TerminalOptions& options, std::ostream& out) const {
  std::vector<int> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) widths.push_back(ColumnWidth(i));
  const bool never_dropped = std::ranges::any_of(columns, &Column::never_dropped);
  // Columns that do not fit go into further tables, together with the columns that belong to them.
  std::vector<std::vector<std::size_t>> tables = {{0}};
  int used = 0;
  for (std::size_t i = 1; i < columns.size();) {
    std::size_t next = i;
    int width = 0;
    do width += 2 + widths[next++];
    while (next < columns.size() && columns[next].title.empty());
    if (tables.back().size() > 1 && 2 + std::min(widths[0], min_name_width) + used + width > options.width) {
      tables.push_back({0});
      used = 0;
    }
    used += width;
    for (; i < next; ++i) tables.back().push_back(i);
  }
  std::size_t hidden = columns.size() - 1;
  for (const std::vector<std::size_t>& table : tables) {
    if (&table != &tables.front() && !options.all && !never_dropped) break;
    if (&table != &tables.front()) out << '\n';
    DrawColumns(table, widths, options, out);
    hidden -= table.size() - 1;
  }
  return hidden;
}

void ScreenTable::DrawColumns(const std::vector<std::size_t>& column_indices, const std::vector<int>& widest,
                              const TerminalOptions& options, std::ostream& out) const {
  std::vector<int> widths = widest;
  int other_columns = 0;
  for (const std::size_t i : column_indices) other_columns += i == 0 ? 0 : 2 + widths[i];
  widths[0] = std::min(widths[0], std::max(kMinNameWidth, options.width - 2 - other_columns));
  std::vector<std::string> names;
  const Truncation truncation = columns.front().truncation;
  if (truncation == show::Table::Truncation::kKeepDifference) {
    for (const auto& row : rows) names.push_back(row.cells[0].text);
    names = ShortenNames(std::move(names), widths[0]);
  }
  // Bars use the remaining room; the largest value fills it.
  const int bars = std::min(kMaxBarColumns, options.width - 2 - widths[0] - other_columns - 2);
  double largest = 0;
  for (const auto& row : rows) {
    for (const show::Cell& cell : row.cells) largest = std::max(largest, cell.bar.value_or(0));
  }
  const auto draw_line = [&](const auto& get_cell) {
    std::string text, bar;
    int blanks = 2;  // written before the next text, so that no line ends with spaces
    for (const std::size_t i : column_indices) {
      const show::Cell cell = get_cell(i);
      const std::string fitted = i > 0 ? cell.text : Truncate(cell.text, widths[0], truncation);
      const int padding = widths[i] - DisplayWidth(fitted);
      if (columns[i].align_right) blanks += padding;
      if (!fitted.empty()) {
        text += Spaces(blanks) + Paint(fitted, ToneColor(cell.tone), options.colors);
        blanks = 0;
      }
      blanks += 2 + (columns[i].align_right ? 0 : padding);
      if (cell.bar && largest > 0 && bars >= kMinBarColumns) bar = Bar(*cell.bar / largest, bars);
    }
    if (!bar.empty()) text += Spaces(blanks) + bar;
    out << text << '\n';
  };
  draw_line([&](std::size_t i) { return show::Cell(columns[i].title, show::Tone::kUnknown); });
  for (std::size_t r = 0; r < rows.size(); ++r) {
    draw_line([&](std::size_t i) {
      show::Cell cell = rows[r].cells[i];
      if (i == 0 && !names.empty()) cell.text = names[r];
      return cell;
    });
  }
}

}  // namespace etprof
