#include "stats/histogram.h"

#include <algorithm>
#include <cmath>

#include "stats/distribution.h"

namespace etprof::stats {

Histogram MakeHistogram(std::span<const double> values, std::size_t most_bins) {
  Histogram histogram;
  if (values.empty()) return histogram;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const double range = sorted.back() - sorted.front();
  histogram.from = sorted.front();
  if (range <= 0) {
    histogram.counts = {static_cast<std::int64_t>(sorted.size())};
    return histogram;
  }
  const double iqr = Quantile(sorted, 0.75) - Quantile(sorted, 0.25);
  const double wanted = iqr > 0 ? std::ceil(range / (2 * iqr / std::cbrt(n))) : std::ceil(std::sqrt(n));
  const auto most = static_cast<double>(std::max<std::size_t>(1, most_bins));
  const double bins = std::clamp(wanted, 1.0, most);
  histogram.width = range / bins;
  histogram.counts.assign(static_cast<std::size_t>(bins), 0);
  for (const double value : sorted) {
    const auto bin = static_cast<std::size_t>((value - histogram.from) / histogram.width);
    ++histogram.counts[std::min(bin, histogram.counts.size() - 1)];  // the greatest closes the last bin
  }
  return histogram;
}

std::vector<EcdfPoint> MakeEcdf(std::span<const double> values, std::size_t most_points) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<EcdfPoint> points;
  const auto n = static_cast<double>(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i + 1 < sorted.size() && sorted[i + 1] == sorted[i]) continue;
    points.push_back({sorted[i], static_cast<double>(i + 1) / n});
  }
  most_points = std::max<std::size_t>(2, most_points);
  if (points.size() <= most_points) return points;
  std::vector<EcdfPoint> thinned = {points.front()};
  for (const EcdfPoint& point : points) {
    const double step = 1.0 / static_cast<double>(most_points - 1);
    if (point.share >= thinned.back().share + step) thinned.push_back(point);
  }
  if (thinned.back().value != points.back().value) thinned.push_back(points.back());
  return thinned;
}

}  // namespace etprof::stats
