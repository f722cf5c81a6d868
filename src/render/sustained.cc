#include "render/sustained.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/duration.h"
#include "core/escape.h"
#include "core/table.h"
#include "core/units.h"
#include "render/markdown_text.h"
#include "render/terminal_text.h"
#include "render/wording.h"

namespace etprof {
namespace {

constexpr std::size_t kMostStretches = 60;
constexpr std::size_t kStretches = 10;

// "10 min", "59.8 s".
std::string Length(double seconds) {
  return seconds >= 120 ? fmt::format("{:.3g} min", seconds / 60) : fmt::format("{:.3g} s", seconds);
}

// One line of a chart: eight levels from the least to the largest value. A value that does not exist is a
// blank.
std::string Sparkline(const std::vector<std::optional<double>>& values, double low, double high) {
  static const char* const kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string line;
  for (const std::optional<double>& value : values) {
    if (!value) {
      line += ' ';
      continue;
    }
    const double place = high > low ? (*value - low) / (high - low) : 0;
    line += kLevels[std::clamp(static_cast<int>(place * 8), 0, 7)];
  }
  return line;
}

struct ChartRow {
  const char* name;
  std::vector<std::optional<double>> values;
  std::string (*text)(double);
};

void DrawRow(const ChartRow& row, std::ostream& out) {
  std::optional<double> low, high;
  for (const std::optional<double>& value : row.values) {
    if (!value) continue;
    low = std::min(low.value_or(*value), *value);
    high = std::max(high.value_or(*value), *value);
  }
  if (!low) return;
  const std::string range =
      row.text(*low) == row.text(*high) ? row.text(*low) : row.text(*low) + " to " + row.text(*high);
  out << fmt::format("    {:<12}", row.name) << Sparkline(row.values, *low, *high) << "  " << range << '\n';
}

std::string OrEmpty(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

std::string SustainedText(const ReportExperiment& experiment) {
  const Sustained& sustained = *experiment.sustained;
  std::string text = Length(sustained.seconds);
  if (!sustained.first_ns || !sustained.last_ns) return text;
  const std::string window = sustained.window_seconds == 60 ? "minute" : Length(sustained.window_seconds);
  text += fmt::format(": {} in the first {}, {} in the last", FormatDuration(*sustained.first_ns), window,
                      FormatDuration(*sustained.last_ns));
  if (!sustained.change) return text;
  const stats::RatioEstimate& change = *sustained.change;
  if (change.log_low <= 0 && change.log_high >= 0) {
    return text + fmt::format(": no change that shows [{:.3g}, {:.3g}]", std::exp(-change.log_high),
                              std::exp(-change.log_low));
  }
  const bool slower = change.ratio() < 1;
  const double sign = slower ? -1 : 1;
  return text + fmt::format(": {} {} [{:.3g}, {:.3g}]", RatioText(std::exp(sign * change.log_ratio)),
                            slower ? "slower" : "faster",
                            std::exp(slower ? -change.log_high : change.log_low),
                            std::exp(slower ? -change.log_low : change.log_high));
}

void DrawSustained(const ReportExperiment& experiment, int width, std::ostream& out) {
  const auto columns = static_cast<std::size_t>(std::clamp(width - 45, 10, static_cast<int>(kMostStretches)));
  ChartRow latency{"latency", {}, [](double ns) { return FormatDuration(ns); }};
  ChartRow clock{"clock", {}, [](double mhz) { return fmt::format("{:.2f} GHz", mhz / 1e3); }};
  ChartRow cap{"its cap", {}, clock.text};
  ChartRow temperature{"temperature", {}, [](double celsius) { return fmt::format("{:.1f} °C", celsius); }};
  for (const SustainedPoint& point : Condensed(*experiment.sustained, columns)) {
    latency.values.emplace_back(point.median_ns);
    clock.values.push_back(point.mhz);
    cap.values.push_back(point.cap_mhz);
    temperature.values.push_back(point.celsius);
  }
  WriteWrapped("  ", OneLine(experiment.label) + ", sustained " + SustainedText(experiment), 2, width, out);
  for (const ChartRow* row : {&latency, &clock, &cap, &temperature}) DrawRow(*row, out);
}

void RenderSustainedMarkdown(const ReportExperiment& experiment, markdown::Out& out) {
  Table table{{{"until", Table::Align::kRight},
               {"runs", Table::Align::kRight},
               {"median", Table::Align::kRight},
               {"p95", Table::Align::kRight},
               {"clock", Table::Align::kRight},
               {"its cap", Table::Align::kRight},
               {"temperature", Table::Align::kRight}},
              {}};
  const std::vector<SustainedPoint> stretches = Condensed(*experiment.sustained, kStretches);
  const double length = experiment.sustained->seconds / static_cast<double>(kStretches);
  double largest = 0;
  for (const SustainedPoint& point : stretches) largest = std::max(largest, point.median_ns);
  const markdown::Times time(largest);
  for (const SustainedPoint& point : stretches) {
    const auto ghz = [](const std::optional<double>& mhz) {
      return mhz ? fmt::format("{:.2f} GHz", *mhz / 1e3) : std::string(kUndefined);
    };
    table.AddRow({Length(length * std::ceil(point.seconds / length)), fmt::format("{}", point.runs),
                  time(point.median_ns), time(point.p95_ns), ghz(point.mhz), ghz(point.cap_mhz),
                  point.celsius ? fmt::format("{:.1f} °C", *point.celsius) : std::string(kUndefined)});
  }
  out << table << '\n';
}

void RenderSustainedCsv(const ReportExperiment& experiment, std::ostream& out) {
  out << "seconds,runs,median_ms,p95_ms,frequency_mhz,frequency_cap_mhz,temperature_c\n";
  for (const SustainedPoint& point : experiment.sustained->points) {
    out << fmt::format("{},{},{},{},{},{},{}\n", point.seconds, point.runs, point.median_ns / 1e6,
                       point.p95_ns / 1e6, OrEmpty(point.mhz), OrEmpty(point.cap_mhz),
                       OrEmpty(point.celsius));
  }
}

}  // namespace etprof
