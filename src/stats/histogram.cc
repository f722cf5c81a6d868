#include "stats/histogram.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "stats/distribution.h"

namespace etprof::stats {
namespace {

// The number of bins of equal width over `range` by the rule of Freedman and Diaconis, for ascending values.
double FreedmanDiaconisBins(std::span<const double> sorted, double range) {
  const auto n = static_cast<double>(sorted.size());
  const double iqr = Quantile(sorted, 0.75) - Quantile(sorted, 0.25);
  return iqr > 0 ? std::ceil(range / (2 * iqr / std::cbrt(n))) : std::ceil(std::sqrt(n));
}

std::size_t BinIndex(double value, double from, double width, std::size_t bins) {
  if (width <= 0) return 0;
  // The largest value belongs to the last bin.
  return std::min(static_cast<std::size_t>((value - from) / width), bins - 1);
}

}  // namespace

Histogram MakeHistogram(std::span<const double> values, std::size_t max_bins) {
  if (values.empty()) return {};
  const std::vector<double> single_set(values.begin(), values.end());
  SharedHistogram shared = MakeSharedHistogram({&single_set, 1}, max_bins);
  return {shared.from, shared.width, std::move(shared.counts[0]), shared.above_axis[0]};
}

SharedHistogram MakeSharedHistogram(std::span<const std::vector<double>> sets, std::size_t max_bins) {
  SharedHistogram shared;
  std::vector<std::vector<double>> sorted(sets.begin(), sets.end());
  double to = 0;
  bool has_values = false;
  for (std::vector<double>& set : sorted) {
    Sort(set);
    if (set.empty()) continue;
    const double last = std::ssize(set) >= kMinValuesForP99 ? Quantile(set, 0.99) : set.back();
    shared.from = has_values ? std::min(shared.from, set.front()) : set.front();
    to = has_values ? std::max(to, last) : last;
    has_values = true;
  }
  if (!has_values) return shared;
  const double range = to - shared.from;
  double bins = 1;
  std::vector<std::span<const double>> on_axis;
  for (const std::vector<double>& set : sorted) {
    const auto end = std::upper_bound(set.begin(), set.end(), to);
    on_axis.emplace_back(set.begin(), end);
    shared.above_axis.push_back(set.end() - end);
    if (range > 0 && !on_axis.back().empty())
      bins = std::max(bins, FreedmanDiaconisBins(on_axis.back(), range));
  }
  bins = std::min(bins, static_cast<double>(std::max<std::size_t>(1, max_bins)));
  shared.width = range / bins;
  for (const std::span<const double> values : on_axis) {
    std::vector<std::int64_t>& counts = shared.counts.emplace_back(static_cast<std::size_t>(bins), 0);
    for (const double value : values) ++counts[BinIndex(value, shared.from, shared.width, counts.size())];
  }
  return shared;
}

std::vector<EcdfPoint> MakeEcdf(std::span<const double> values, std::size_t max_points) {
  std::vector<double> sorted(values.begin(), values.end());
  Sort(sorted);
  std::vector<EcdfPoint> points;
  const auto n = static_cast<double>(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i + 1 < sorted.size() && sorted[i + 1] == sorted[i]) continue;
    points.push_back({sorted[i], static_cast<double>(i + 1) / n});
  }
  max_points = std::max<std::size_t>(2, max_points);
  if (points.size() <= max_points) return points;
  std::vector<EcdfPoint> thinned = {points.front()};
  const double step = 1.0 / static_cast<double>(max_points - 1);
  for (const EcdfPoint& point : points) {
    if (point.share >= thinned.back().share + step) thinned.push_back(point);
  }
  if (thinned.back().value != points.back().value) thinned.push_back(points.back());
  return thinned;
}

}  // namespace etprof::stats
