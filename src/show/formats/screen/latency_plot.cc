#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text/escape.h"
#include "core/units.h"
#include "show/formats/screen/plots.h"
#include "show/formats/screen/terminal_text.h"
#include "show/wording.h"

namespace etprof {
namespace {

constexpr int kMaxLabelWidth = 20;  // columns
constexpr int kMaxColumns = 96;     // columns of the plot: further width would show no more detail
constexpr int kTallRows = 3;        // rows per variant if there are at most kMaxTallVariants; else one row
constexpr std::size_t kMaxTallVariants = 2;
constexpr int kMinLabelDistance = 4;  // minimum distance of the axis labels, in columns
constexpr int kLevels = 8;            // heights of a block character

const char* const kBlocks[kLevels + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// Maps bins to the plot's columns: a column merges `merged` bins, or a bin is `stretch` columns wide.
struct Axis {
  double from = 0, column = 0;  // ns; `column`: width of a column, 0 if all values are equal
  std::size_t merged = 1, stretch = 1;
  int columns = 1;

  int FindColumn(double ns) const {
    if (column <= 0) return 0;
    return std::clamp(static_cast<int>((ns - from) / column), 0, columns - 1);
  }
};

Axis MakeAxis(const show::Distributions& distributions, int room) {
  const std::size_t bins = distributions.series.front().counts.size();
  const auto max_columns = static_cast<std::size_t>(std::max(1, room));
  Axis axis;
  axis.from = distributions.from_ns;
  axis.merged = (bins + max_columns - 1) / max_columns;
  axis.stretch = axis.merged > 1 || distributions.bin_ns <= 0 ? 1 : max_columns / bins;
  const std::size_t columns = axis.merged > 1 ? (bins + axis.merged - 1) / axis.merged : bins * axis.stretch;
  axis.columns = static_cast<int>(columns);
  axis.column = distributions.bin_ns * static_cast<double>(axis.merged) / static_cast<double>(axis.stretch);
  return axis;
}

std::vector<std::int64_t> CountsPerColumn(const std::vector<std::int64_t>& counts, const Axis& axis) {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(axis.columns), 0);
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    for (std::size_t i = 0; i < axis.stretch; ++i)
      columns[bin / axis.merged * axis.stretch + i] += counts[bin];
  }
  return columns;
}

// "▲ 2.03 ms" below its column; "2.03 ms ▲" if there is no room on the right.
std::string MarkColumn(int column, const std::string& text, int columns) {
  const int width = DisplayWidth(text);
  if (column + 2 + width <= columns || column < width + 1) return Spaces(column) + "▲ " + text;
  return Spaces(column - width - 1) + text + " ▲";
}

// The smallest of 1, 2, or 5 times a power of ten that is at least `step`.
double RoundStepUp(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= step * (1 - 1e-9)) return times * power;
  }
  return 10 * power;
}

// Draws the axis and its labels in the unit of the scale, in `room` columns after the indent.
void DrawAxis(const Axis& axis, const TimeScale& scale, int indent, int room, std::ostream& out) {
  if (axis.column <= 0) {
    WriteLine(Spaces(indent) + "┴", out);
    WriteLine(Spaces(indent) + scale.Text(axis.from), out);
    return;
  }
  const double unit = scale.unit_ns;
  const double end = axis.from + axis.column * axis.columns;
  const auto format_label = [&](double tick, double step) {
    return fmt::format("{:.{}f}", tick, std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9))));
  };
  // Widen the step until the labels fit.
  double step = RoundStepUp(axis.column / unit);
  while (step * unit / axis.column < DisplayWidth(format_label(end / unit, step)) + kMinLabelDistance &&
         step * unit < end - axis.from)
    step = RoundStepUp(step * 1.5);
  std::string line, labels;
  int column = 0;
  for (double tick = std::ceil(axis.from / unit / step - 1e-9) * step; tick * unit <= end; tick += step) {
    const int tick_column = axis.FindColumn(tick * unit);
    for (; column < tick_column; ++column) line += "─";
    line += "┴";
    ++column;
    const std::string label = format_label(tick, step);
    const int start = std::max(0, tick_column - DisplayWidth(label) / 2);
    const bool has_room = labels.empty() || start > DisplayWidth(labels);
    if (!has_room || start + DisplayWidth(label) + 1 + DisplayWidth(scale.unit) > room) continue;
    labels += Spaces(start - DisplayWidth(labels)) + label;
  }
  for (; column < axis.columns; ++column) line += "─";
  WriteLine(Spaces(indent) + line, out);
  WriteLine(Spaces(indent) + labels + (labels.empty() ? "" : " ") + scale.unit, out);
}

}  // namespace

void DrawDistributions(const show::Distributions& distributions, const TerminalOptions& options,
                       std::ostream& out) {
  if (distributions.series.empty() || distributions.series.front().counts.empty()) return;
  double smallest = 1e300, largest = 0, slowest = 0;
  int label_width = 0;
  std::vector<std::string> labels, above_axis_texts;
  std::int64_t total_above_axis = 0;
  for (const show::Distributions::Series& series : distributions.series) {
    const double median = series.median_ns.value_or(0);
    smallest = std::min(smallest, median);
    largest = std::max(largest, median);
    slowest = std::max(slowest, series.largest_ns.value_or(0));
    total_above_axis += series.above_axis;
    labels.push_back(TruncateEnd(EscapeToOneLine(series.name), kMaxLabelWidth));
    above_axis_texts.push_back(series.above_axis > 0 ? fmt::format("{} beyond", series.above_axis) : "");
    label_width = std::max({label_width, DisplayWidth(labels.back()), DisplayWidth(above_axis_texts.back())});
  }
  const TimeScale scale = ScaleFor(smallest, largest);
  const int indent = 2 + label_width + 2;
  const Axis axis = MakeAxis(distributions, std::min(kMaxColumns, options.width - indent - 1));
  const int rows = distributions.series.size() <= kMaxTallVariants ? kTallRows : 1;
  for (std::size_t i = 0; i < distributions.series.size(); ++i) {
    const std::vector<std::int64_t> columns = CountsPerColumn(distributions.series[i].counts, axis);
    const std::int64_t max_count = std::max<std::int64_t>(1, *std::ranges::max_element(columns));
    const auto margin = [&](int row) {
      const std::string& text = row == 0 ? labels[i] : row == 1 ? above_axis_texts[i] : "";
      return "  " + text + Spaces(label_width - DisplayWidth(text)) + "  ";
    };
    for (int row = 0; row < rows; ++row) {
      std::string blocks;
      for (const std::int64_t count : columns) {
        // A count above 0 is always visible: its bar has at least the lowest level.
        const double height = static_cast<double>(count) / static_cast<double>(max_count) * rows * kLevels;
        const int levels = count > 0 ? std::max(1, static_cast<int>(std::lround(height))) : 0;
        blocks += kBlocks[std::clamp(levels - (rows - 1 - row) * kLevels, 0, kLevels)];
      }
      WriteLine(margin(row) + blocks, out);
    }
    const std::optional<double>& median = distributions.series[i].median_ns;
    WriteLine(margin(rows) +
                  (median ? MarkColumn(axis.FindColumn(*median), scale.Text(*median), axis.columns) : ""),
              out);
  }
  DrawAxis(axis, scale, indent, options.width - indent, out);
  std::string text = "▲ median; a column's height is its share of the variant's runs";
  if (axis.column > 0) text += ", its width " + FormatDuration(axis.column);
  if (total_above_axis > 0) {
    text += fmt::format("; beyond: the runs past {}, the slowest {}",
                        scale.Text(axis.from + axis.column * axis.columns), FormatDuration(slowest));
  }
  WriteWrapped("", text, 2, options.width, out);
}

}  // namespace etprof
