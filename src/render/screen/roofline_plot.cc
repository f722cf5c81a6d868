#include "render/screen/roofline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/table.h"
#include "render/screen/terminal_text.h"

namespace etprof {
namespace {

constexpr int kPlotRows = 16;
constexpr int kMostPlotColumns = 90;
constexpr int kLeft = 9;  // columns before the picture: "  100 G "
constexpr int kTickRoom = 8;

// "100 G" of 1e11.
std::string Power(int exponent) {
  static const char* const kPrefixes[] = {"", " k", " M", " G", " T", " P"};
  if (exponent < 0) return fmt::format("{:.{}f}", std::pow(10, exponent), -exponent);
  const int prefix = std::min(exponent / 3, 5);
  return fmt::format("{:.0f}{}", std::pow(10, exponent - 3 * prefix), kPrefixes[prefix]);
}

struct Range {
  double low = 0, high = 0;  // decimal logarithms

  // From 0 to 1 in it.
  double Place(double value) const { return (std::log10(value) - low) / (high - low); }
};

class Picture {
 public:
  Picture(Range x, Range y, int columns)
      : x_(x),
        y_(y),
        columns_(columns),
        cells_(kPlotRows, std::vector<std::string>(static_cast<std::size_t>(columns), " ")) {}

  std::optional<int> Column(double x) const { return At(x_.Place(x), columns_); }
  std::optional<int> Row(double y) const {
    const auto row = At(y_.Place(y), kPlotRows);
    return row ? std::optional(kPlotRows - 1 - *row) : std::nullopt;
  }
  // The value in the middle of a column.
  double XOf(int column) const {
    return std::pow(10, x_.low + (x_.high - x_.low) * (column + 0.5) / columns_);
  }
  std::string& Cell(int row, int column) {
    return cells_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  }
  int columns() const { return columns_; }

  void Draw(std::ostream& out) {
    std::vector<std::string> left(kPlotRows);
    for (int power = static_cast<int>(std::ceil(y_.low)); power <= y_.high; ++power) {
      if (const auto row = Row(std::pow(10, power))) left[static_cast<std::size_t>(*row)] = Power(power);
    }
    for (std::size_t row = 0; row < left.size(); ++row) {
      std::string line =
          Blanks(kLeft - 2 - DisplayWidth(left[row])) + left[row] + (left[row].empty() ? " │" : " ┤");
      for (const std::string& cell : cells_[row]) line += cell;
      line.erase(line.find_last_not_of(' ') + 1);
      out << line << '\n';
    }
    std::string line = Blanks(kLeft - 1) + "└", labels;
    int column = 0;
    for (int power = static_cast<int>(std::ceil(x_.low)); power <= x_.high; ++power) {
      const auto at = Column(std::pow(10, power));
      if (!at) continue;
      for (; column < *at; ++column) line += "─";
      line += "┴";
      ++column;
      const std::string label = Power(power);
      const int start = kLeft + *at - DisplayWidth(label) / 2;
      if (start > DisplayWidth(labels)) labels += Blanks(start - DisplayWidth(labels)) + label;
    }
    for (; column < columns_; ++column) line += "─";
    out << line << '\n' << labels << " FLOP/B\n";
  }

 private:
  static std::optional<int> At(double place, int cells) {
    if (!(place >= 0) || place > 1) return std::nullopt;
    return std::min(static_cast<int>(place * cells), cells - 1);
  }

  Range x_, y_;
  int columns_;
  std::vector<std::vector<std::string>> cells_;  // row by row from the top
};

bool HasPlace(const RooflineRow& row) { return row.flops() > 0 && row.bytes > 0 && row.time.ns > 0; }

double FlopsPerSecond(const RooflineRow& row) { return 2 * row.macs_per_s(); }

// What all points and the ridges, where a memory roof meets the compute roof, lie in.
void Stretch(double value, Range& range) {
  range.low = std::min(range.low, std::log10(value));
  range.high = std::max(range.high, std::log10(value));
}

void Write(Picture& picture, int row, int column, const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int at = column + static_cast<int>(i);
    if (at >= 0 && at < picture.columns()) picture.Cell(row, at) = std::string(1, text[i]);
  }
}

// Memory roofs rise from the left and end at the highest compute roof; compute roofs are level and begin at
// the fastest memory.
void DrawRoofs(const std::vector<Roof>& roofs, double highest, double fastest, Picture& picture) {
  for (const Roof& roof : roofs) {
    if (roof.kind != Roof::Kind::kMemory || roof.per_second <= 0) continue;
    bool named = false;
    for (int column = 0; column < picture.columns(); ++column) {
      const double flops = picture.XOf(column) * roof.per_second;
      if (flops > highest) break;
      const auto row = picture.Row(flops);
      if (!row) continue;
      if (picture.Cell(*row, column) == " ") picture.Cell(*row, column) = "∙";
      if (!named) Write(picture, *row, column, Ascii(roof.name));
      if (!named) column += DisplayWidth(roof.name) - 1;
      named = true;
    }
  }
  for (const Roof& roof : roofs) {
    if (roof.kind != Roof::Kind::kCompute || roof.per_second <= 0) continue;
    const double flops = 2 * roof.per_second;
    const auto row = picture.Row(flops);
    if (!row) continue;
    for (int column = 0; column < picture.columns(); ++column) {
      if (fastest <= 0 || picture.XOf(column) * fastest >= flops) picture.Cell(*row, column) = "─";
    }
    const bool tera = flops >= 999.5e9;
    const std::string name =
        fmt::format("{} {:.3g} {}", roof.name, flops / (tera ? 1e12 : 1e9), tera ? "T" : "G");
    Write(picture, std::max(0, *row - 1), picture.columns() - 1 - DisplayWidth(name), Ascii(name));
  }
}

}  // namespace

std::vector<std::string> DrawRooflinePlot(const Roofline& roofline, std::size_t lettered,
                                          const TerminalOptions& options, std::ostream& out) {
  std::vector<std::string> letters(std::min(lettered, roofline.rows.size()));
  const auto placed = std::count_if(roofline.rows.begin(), roofline.rows.end(), HasPlace);
  if (placed == 0) return letters;
  double highest = 0, fastest = 0;
  for (const Roof& roof : roofline.roofs) {
    const bool compute = roof.kind == Roof::Kind::kCompute;
    double& best = compute ? highest : fastest;
    best = std::max(best, compute ? 2 * roof.per_second : roof.per_second);
  }
  Range x{1e300, -1e300}, y{1e300, -1e300};
  for (const RooflineRow& row : roofline.rows) {
    if (!HasPlace(row)) continue;
    Stretch(row.intensity(), x);
    Stretch(FlopsPerSecond(row), y);
  }
  if (highest > 0) Stretch(highest, y);
  if (highest > 0 && fastest > 0) Stretch(highest / fastest, x);
  // A margin, so that nothing lies on the frame, and a roof's name fits above it; of one point alone a
  // decade.
  for (Range* range : {&x, &y}) {
    const double margin = std::max(0.1, 2 * (range->high - range->low) / kPlotRows);
    range->low -= margin;
    range->high += margin;
  }
  Picture picture(x, y, std::clamp(options.width - kLeft - kTickRoom, 30, kMostPlotColumns));
  DrawRoofs(roofline.roofs, highest, fastest, picture);
  std::map<std::pair<int, int>, std::string> taken;
  for (std::size_t i = 0; i < roofline.rows.size(); ++i) {
    const RooflineRow& row = roofline.rows[i];
    if (!HasPlace(row)) continue;
    const auto line = picture.Row(FlopsPerSecond(row));
    const auto column = picture.Column(row.intensity());
    if (!line || !column) continue;
    const std::string next = i < letters.size() ? std::string(1, static_cast<char>('A' + taken.size())) : "•";
    const std::string& mark = taken.try_emplace({*line, *column}, next).first->second;
    if (i < letters.size()) letters[i] = mark;
    picture.Cell(*line, *column) = mark;
  }
  out << "  FLOP/s\n";
  picture.Draw(out);
  const auto left_out = static_cast<std::ptrdiff_t>(roofline.rows.size()) - placed;
  if (left_out > 0)
    out << fmt::format("  {} operator{} without multiply-adds {} not in the picture\n", left_out,
                       left_out == 1 ? "" : "s", left_out == 1 ? "is" : "are");
  return letters;
}

}  // namespace etprof
