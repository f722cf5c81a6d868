#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/text/escape.h"
#include "show/formats/screen/plots.h"
#include "show/formats/screen/terminal_text.h"

namespace etprof {
namespace {

constexpr int kPlotRows = 16;
constexpr int kMaxPlotColumns = 90;
constexpr int kLeftMargin = 9;  // columns left of the chart: "  100 G "
constexpr int kTickLabelColumns = 8;

// The number 10^exponent with a metric prefix: "100 G" for 1e11.
std::string PowerText(int exponent) {
  static const char* const kPrefixes[] = {"", " k", " M", " G", " T", " P"};
  if (exponent < 0) return fmt::format("{:.{}f}", std::pow(10, exponent), -exponent);
  const int prefix = std::min(exponent / 3, 5);
  return fmt::format("{:.0f}{}", std::pow(10, exponent - 3 * prefix), kPrefixes[prefix]);
}

struct Range {
  double low = 0, high = 0;  // decimal logarithms

  // Position of `value` in the range, from 0 (low) to 1 (high).
  double Position(double value) const { return (std::log10(value) - low) / (high - low); }
};

class PlotCanvas {
 public:
  PlotCanvas(Range x, Range y, int columns)
      : x_(x),
        y_(y),
        columns_(columns),
        cells_(kPlotRows, std::vector<std::string>(static_cast<std::size_t>(columns), " ")) {}

  std::optional<int> Column(double x) const { return CellIndex(x_.Position(x), columns_); }
  std::optional<int> Row(double y) const {
    const auto row = CellIndex(y_.Position(y), kPlotRows);
    return row ? std::optional(kPlotRows - 1 - *row) : std::nullopt;
  }
  // The value in the middle of a column.
  double XAtColumn(int column) const {
    return std::pow(10, x_.low + (x_.high - x_.low) * (column + 0.5) / columns_);
  }
  std::string& Cell(int row, int column) {
    return cells_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  }
  int columns() const { return columns_; }

  void Draw(const std::string& x_unit, std::ostream& out) {
    std::vector<std::string> tick_labels(kPlotRows);
    for (int power = static_cast<int>(std::ceil(y_.low)); power <= y_.high; ++power) {
      if (const auto row = Row(std::pow(10, power)))
        tick_labels[static_cast<std::size_t>(*row)] = PowerText(power);
    }
    for (std::size_t row = 0; row < tick_labels.size(); ++row) {
      std::string line = Spaces(kLeftMargin - 2 - DisplayWidth(tick_labels[row])) + tick_labels[row] +
                         (tick_labels[row].empty() ? " │" : " ┤");
      for (const std::string& cell : cells_[row]) line += cell;
      WriteLine(line, out);
    }
    std::string line = Spaces(kLeftMargin - 1) + "└", labels;
    int column = 0;
    for (int power = static_cast<int>(std::ceil(x_.low)); power <= x_.high; ++power) {
      const auto tick_column = Column(std::pow(10, power));
      if (!tick_column) continue;
      for (; column < *tick_column; ++column) line += "─";
      line += "┴";
      ++column;
      const std::string label = PowerText(power);
      const int start = kLeftMargin + *tick_column - DisplayWidth(label) / 2;
      if (start > DisplayWidth(labels)) labels += Spaces(start - DisplayWidth(labels)) + label;
    }
    for (; column < columns_; ++column) line += "─";
    out << line << '\n' << labels << ' ' << x_unit << '\n';
  }

 private:
  static std::optional<int> CellIndex(double position, int cells) {
    if (!(position >= 0) || position > 1) return std::nullopt;
    return std::min(static_cast<int>(position * cells), cells - 1);
  }

  Range x_, y_;
  int columns_;
  std::vector<std::vector<std::string>> cells_;  // rows from the top
};

void ExtendRange(double value, Range& range) {
  range.low = std::min(range.low, std::log10(value));
  range.high = std::max(range.high, std::log10(value));
}

void WriteOnCanvas(PlotCanvas& canvas, int row, int column, const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int cell_column = column + static_cast<int>(i);
    if (cell_column >= 0 && cell_column < canvas.columns())
      canvas.Cell(row, cell_column) = std::string(1, text[i]);
  }
}

// Draws the lines. Rising lines end at the highest horizontal line; horizontal lines begin at the steepest
// rising line.
void DrawLines(const std::vector<show::RooflineChart::Line>& lines, double highest, double steepest,
               PlotCanvas& canvas) {
  for (const show::RooflineChart::Line& line : lines) {
    if (line.is_horizontal) continue;
    bool is_named = false;
    for (int column = 0; column < canvas.columns(); ++column) {
      const double y = canvas.XAtColumn(column) * line.y;
      if (y > highest) break;
      const auto row = canvas.Row(y);
      if (!row) continue;
      if (canvas.Cell(*row, column) == " ") canvas.Cell(*row, column) = "∙";
      if (!is_named) WriteOnCanvas(canvas, *row, column, ToAscii(line.name));
      if (!is_named) column += DisplayWidth(line.name) - 1;
      is_named = true;
    }
  }
  for (const show::RooflineChart::Line& line : lines) {
    const auto row = line.is_horizontal ? canvas.Row(line.y) : std::nullopt;
    if (!row) continue;
    for (int column = 0; column < canvas.columns(); ++column) {
      if (steepest <= 0 || canvas.XAtColumn(column) * steepest >= line.y) canvas.Cell(*row, column) = "─";
    }
    WriteOnCanvas(canvas, std::max(0, *row - 1), canvas.columns() - 1 - DisplayWidth(line.name),
                  ToAscii(line.name));
  }
}

}  // namespace

std::vector<std::string> DrawRooflineChart(const show::RooflineChart& chart, const TerminalOptions& options,
                                           std::ostream& out) {
  double highest = 0, steepest = 0;
  for (const show::RooflineChart::Line& line : chart.lines) {
    double& maximum = line.is_horizontal ? highest : steepest;
    maximum = std::max(maximum, line.y);
  }
  // The chart covers all points and the ridge point, where the steepest line meets the highest horizontal
  // line.
  Range x{1e300, -1e300}, y{1e300, -1e300};
  for (const auto& point : chart.points) {
    if (!point) continue;
    ExtendRange(point->x, x);
    ExtendRange(point->y, y);
  }
  if (x.low > x.high) return {};
  if (highest > 0) ExtendRange(highest, y);
  if (highest > 0 && steepest > 0) ExtendRange(highest / steepest, x);
  // Add a margin, so that nothing lies on the frame, the name of a line fits above it, and a single point has
  // a range, too.
  for (Range* range : {&x, &y}) {
    const double margin = std::max(0.1, 2 * (range->high - range->low) / kPlotRows);
    range->low -= margin;
    range->high += margin;
  }
  PlotCanvas canvas(x, y, std::clamp(options.width - kLeftMargin - kTickLabelColumns, 30, kMaxPlotColumns));
  DrawLines(chart.lines, highest, steepest, canvas);
  std::vector<std::string> letters(std::min(chart.lettered_rows, chart.points.size()));
  std::map<std::pair<int, int>, std::string> letter_at;
  for (std::size_t i = 0; i < chart.points.size(); ++i) {
    if (!chart.points[i]) continue;
    const auto line = canvas.Row(chart.points[i]->y);
    const auto column = canvas.Column(chart.points[i]->x);
    if (!line || !column) continue;
    const std::string new_mark =
        i < letters.size() ? std::string(1, static_cast<char>('A' + letter_at.size())) : "•";
    const std::string& mark = letter_at.try_emplace({*line, *column}, new_mark).first->second;
    if (i < letters.size()) letters[i] = mark;
    canvas.Cell(*line, *column) = mark;
  }
  out << "  " << chart.y_unit << '\n';
  canvas.Draw(chart.x_unit, out);
  if (!chart.note.empty()) WriteWrapped("  ", chart.note, 2, options.width, out);
  return letters;
}

}  // namespace etprof
