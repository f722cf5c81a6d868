#include "report/run/sustained.h"

#include <algorithm>

#include "stats/distribution.h"
#include "stats/ratio/unpaired.h"

namespace etprof {
namespace {

constexpr double kLongestWindow = 60;  // seconds
constexpr double kConfidenceOfChange = 0.95;

std::optional<double> MedianOf(const std::vector<SustainedPoint>& points, const auto& member) {
  std::vector<double> values;
  for (const SustainedPoint& point : points) {
    if (const std::optional<double> value = point.*member) values.push_back(*value);
  }
  return stats::Median(values);
}

SustainedPoint PointOf(const Burst& burst, Nanoseconds start) {
  SustainedPoint point;
  point.seconds = (static_cast<double>(burst.start - start) + static_cast<double>(burst.end - start)) / 2e9;
  const std::vector<double> runs(burst.recorded.begin(), burst.recorded.end());
  const stats::Distribution latency = stats::Describe(runs);
  point.median_ns = latency.p50.value_or(0);
  point.p95_ns = latency.p95.value_or(0);
  point.runs = runs.size();
  if (burst.frequency_khz) point.mhz = static_cast<double>(*burst.frequency_khz) / 1e3;
  if (burst.frequency_cap_khz) point.cap_mhz = static_cast<double>(*burst.frequency_cap_khz) / 1e3;
  point.celsius = burst.temperature_celsius;
  return point;
}

}  // namespace

std::optional<Sustained> DescribeSustained(const ExperimentData& data) {
  if (data.launches.empty()) return std::nullopt;
  const std::vector<Burst>& bursts = data.launches.back().bursts;
  Sustained sustained;
  if (bursts.empty() || bursts.front().start == 0) return std::nullopt;
  for (const Burst& burst : bursts) {
    if (!burst.recorded.empty()) sustained.points.push_back(PointOf(burst, bursts.front().start));
  }
  if (sustained.points.empty()) return std::nullopt;
  sustained.seconds = static_cast<double>(bursts.back().end - bursts.front().start) / 1e9;
  sustained.window_seconds = std::min(kLongestWindow, sustained.seconds / 4);
  std::vector<double> first, last;
  for (const SustainedPoint& point : sustained.points) {
    if (point.seconds <= sustained.window_seconds) first.push_back(point.median_ns);
    if (point.seconds >= sustained.seconds - sustained.window_seconds) last.push_back(point.median_ns);
  }
  sustained.first_ns = stats::Median(std::span<const double>(first));
  sustained.last_ns = stats::Median(std::span<const double>(last));
  // An emulated CPU's times mean nothing.
  if (!data.emulated) sustained.change = stats::EstimateUnpaired(first, last, kConfidenceOfChange, 1);
  return sustained;
}

std::vector<SustainedPoint> Condensed(const Sustained& sustained, std::size_t count) {
  std::vector<std::vector<SustainedPoint>> stretches(count);
  for (const SustainedPoint& point : sustained.points) {
    const double place = sustained.seconds > 0 ? point.seconds / sustained.seconds : 0;
    const auto index = static_cast<std::size_t>(std::clamp(place, 0.0, 1.0) * static_cast<double>(count));
    stretches[std::min(index, count - 1)].push_back(point);
  }
  std::vector<SustainedPoint> condensed;
  for (const std::vector<SustainedPoint>& stretch : stretches) {
    if (stretch.empty()) continue;
    SustainedPoint point;
    point.seconds = *MedianOf(stretch, &SustainedPoint::seconds);
    point.median_ns = *MedianOf(stretch, &SustainedPoint::median_ns);
    point.p95_ns = *MedianOf(stretch, &SustainedPoint::p95_ns);
    for (const SustainedPoint& burst : stretch) point.runs += burst.runs;
    point.mhz = MedianOf(stretch, &SustainedPoint::mhz);
    point.cap_mhz = MedianOf(stretch, &SustainedPoint::cap_mhz);
    point.celsius = MedianOf(stretch, &SustainedPoint::celsius);
    condensed.push_back(point);
  }
  return condensed;
}

}  // namespace etprof
