#include "report/run/sustained.h"

#include <algorithm>

#include "stats/distribution.h"
#include "stats/ratio/unpaired.h"

namespace etprof {
namespace {

constexpr double kMaxWindowSeconds = 60;
constexpr double kChangeConfidence = 0.95;

std::optional<double> MedianOfMember(const std::vector<SustainedPoint>& points, const auto& member) {
  std::vector<double> values;
  for (const SustainedPoint& point : points) {
    if (const std::optional<double> value = point.*member) values.push_back(*value);
  }
  return stats::Median(values);
}

SustainedPoint MakeSustainedPoint(const Burst& burst, Nanoseconds start) {
  SustainedPoint point;
  point.seconds = (static_cast<double>(burst.start - start) + static_cast<double>(burst.end - start)) / 2e9;
  const std::vector<double> runs(burst.recorded.begin(), burst.recorded.end());
  const stats::Distribution latency = stats::Summarize(runs);
  point.median_ns = latency.p50.value_or(0);
  point.p95_ns = latency.p95.value_or(0);
  point.runs = runs.size();
  if (burst.frequency_khz) point.mhz = static_cast<double>(*burst.frequency_khz) / 1e3;
  if (burst.frequency_cap_khz) point.cap_mhz = static_cast<double>(*burst.frequency_cap_khz) / 1e3;
  point.celsius = burst.temperature_celsius;
  return point;
}

}  // namespace

std::optional<Sustained> SummarizeSustained(const ExperimentData& data) {
  if (data.launches.empty()) return std::nullopt;
  const std::vector<Burst>& bursts = data.launches.back().bursts;
  Sustained sustained;
  if (bursts.empty() || bursts.front().start == 0) return std::nullopt;
  for (const Burst& burst : bursts) {
    if (!burst.recorded.empty()) sustained.points.push_back(MakeSustainedPoint(burst, bursts.front().start));
  }
  if (sustained.points.empty()) return std::nullopt;
  sustained.seconds = static_cast<double>(bursts.back().end - bursts.front().start) / 1e9;
  sustained.window_seconds = std::min(kMaxWindowSeconds, sustained.seconds / 4);
  std::vector<double> first, last;
  for (const SustainedPoint& point : sustained.points) {
    if (point.seconds <= sustained.window_seconds) first.push_back(point.median_ns);
    if (point.seconds >= sustained.seconds - sustained.window_seconds) last.push_back(point.median_ns);
  }
  sustained.first_ns = stats::Median(std::span<const double>(first));
  sustained.last_ns = stats::Median(std::span<const double>(last));
  // Times of an emulated CPU are not meaningful.
  if (!data.emulated) sustained.change = stats::EstimateUnpaired(first, last, kChangeConfidence, 1);
  return sustained;
}

std::vector<SustainedPoint> CondenseSustained(const Sustained& sustained, std::size_t count) {
  std::vector<std::vector<SustainedPoint>> ranges(count);
  for (const SustainedPoint& point : sustained.points) {
    const double position = sustained.seconds > 0 ? point.seconds / sustained.seconds : 0;
    const auto index = static_cast<std::size_t>(std::clamp(position, 0.0, 1.0) * static_cast<double>(count));
    ranges[std::min(index, count - 1)].push_back(point);
  }
  std::vector<SustainedPoint> condensed;
  for (const std::vector<SustainedPoint>& range : ranges) {
    if (range.empty()) continue;
    SustainedPoint point;
    point.seconds = *MedianOfMember(range, &SustainedPoint::seconds);
    point.median_ns = *MedianOfMember(range, &SustainedPoint::median_ns);
    point.p95_ns = *MedianOfMember(range, &SustainedPoint::p95_ns);
    for (const SustainedPoint& burst : range) point.runs += burst.runs;
    point.mhz = MedianOfMember(range, &SustainedPoint::mhz);
    point.cap_mhz = MedianOfMember(range, &SustainedPoint::cap_mhz);
    point.celsius = MedianOfMember(range, &SustainedPoint::celsius);
    condensed.push_back(point);
  }
  return condensed;
}

}  // namespace etprof
