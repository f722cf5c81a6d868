#include <fmt/format.h>

#include <cmath>

#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kMaxSustainedPoints = 60;  // points of a chart; a screen has room for no more
constexpr std::size_t kStretches = 10;

// "10 min", "59.8 s".
std::string LengthText(double seconds) {
  return seconds >= 120 ? fmt::format("{:.3g} min", seconds / 60) : fmt::format("{:.3g} s", seconds);
}

Cell Gigahertz(double mhz) { return Number{mhz / 1e3, "GHz"}; }
Cell Celsius(double celsius) { return Number{celsius, "°C"}; }

Chart MakeSustainedChart(const Sustained& sustained) {
  Chart::Series latency{"latency", {}, [](double ns) { return Cell(Duration{ns}); }};
  Chart::Series clock{"clock", {}, Gigahertz}, cap{"its cap", {}, Gigahertz};
  Chart::Series temperature{"temperature", {}, Celsius};
  for (const SustainedPoint& point : CondenseSustained(sustained, kMaxSustainedPoints)) {
    latency.values.emplace_back(point.median_ns);
    clock.values.push_back(point.mhz);
    cap.values.push_back(point.cap_mhz);
    temperature.values.push_back(point.celsius);
  }
  return {{std::move(latency), std::move(clock), std::move(cap), std::move(temperature)}};
}

Table MakeSustainedTable(const Sustained& sustained) {
  Table table{
      .id = "sustained",
      .columns = {Right("until"), Right("runs"), Right("median"), Right("p95"), Right("frequency", "clock"),
                  Right("frequency_cap", "its cap"), Right("temperature")},
      .visibility = Visibility::kPage};
  const double length = sustained.seconds / static_cast<double>(kStretches);
  for (const SustainedPoint& point : CondenseSustained(sustained, kStretches)) {
    table.AddRow(LengthText(length * std::ceil(point.seconds / length)), Count{point.runs},
                 Time{point.median_ns}, Time{point.p95_ns}, point.mhz ? Gigahertz(*point.mhz) : Cell(),
                 point.cap_mhz ? Gigahertz(*point.cap_mhz) : Cell(),
                 point.celsius ? Celsius(*point.celsius) : Cell());
  }
  return table;
}

Text SustainedText(const Sustained& sustained) {
  Text text = LengthText(sustained.seconds);
  if (!sustained.first_ns || !sustained.last_ns) return text;
  const std::string window = sustained.window_seconds == 60 ? "minute" : LengthText(sustained.window_seconds);
  text += FormatText(": {} in the first {}, {} in the last", Time{*sustained.first_ns}, window,
                     Time{*sustained.last_ns});
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

}  // namespace

std::vector<Section> MakeSustainedSections(const Report& report) {
  std::vector<Section> sections;
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.sustained) continue;
    const Sustained& sustained = *experiment.sustained;
    sections.push_back({experiment.label + ", sustained",
                        {Paragraph{SustainedText(sustained)}, MakeSustainedChart(sustained),
                         MakeSustainedTable(sustained)}});
  }
  return sections;
}

}  // namespace etprof::show
