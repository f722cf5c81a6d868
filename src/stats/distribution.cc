#include "stats/distribution.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <vector>

#include "stats/compensated_sum.h"

namespace etprof::stats {
namespace {

// `share` of the values is cut from each end; less than half of them, so something is left.
double TrimmedMean(std::span<const double> sorted, double share) {
  const auto cut = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
  return CompensatedMean(sorted.subspan(cut, sorted.size() - 2 * cut));
}

Fences FencesOfSorted(std::span<const double> sorted) {
  if (sorted.size() < 4) {
    return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
  const double first_quartile = Quantile(sorted, 0.25);
  const double third_quartile = Quantile(sorted, 0.75);
  const double reach = 1.5 * (third_quartile - first_quartile);
  return {first_quartile - reach, third_quartile + reach};
}

}  // namespace

Distribution Describe(std::span<const double> values) {
  std::vector<double> sorted;
  sorted.reserve(values.size());
  std::copy_if(values.begin(), values.end(), std::back_inserter(sorted),
               [](double x) { return std::isfinite(x); });
  std::sort(sorted.begin(), sorted.end());

  Distribution result;
  result.n = static_cast<std::int64_t>(sorted.size());
  if (sorted.empty()) return result;

  const double mean = CompensatedMean(sorted);
  result.mean = mean;
  if (sorted.size() > 1) {
    result.sd = std::sqrt(SquaredDeviations(sorted, mean) / static_cast<double>(sorted.size() - 1));
    if (mean != 0) result.cv = *result.sd / std::fabs(mean);
  }
  result.min = sorted.front();
  result.max = sorted.back();
  result.p50 = Quantile(sorted, 0.5);
  result.p90 = Quantile(sorted, 0.9);
  result.p95 = Quantile(sorted, 0.95);
  result.p99 = Quantile(sorted, 0.99);
  result.trimmed_mean_5 = TrimmedMean(sorted, 0.05);
  result.trimmed_mean_10 = TrimmedMean(sorted, 0.10);
  const Fences fences = FencesOfSorted(sorted);
  result.outliers =
      std::count_if(sorted.begin(), sorted.end(), [&](double x) { return !fences.Contains(x); });
  for (double& value : sorted) value = std::fabs(value - *result.p50);
  result.mad = Median(sorted);
  return result;
}

double Quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) throw std::invalid_argument("no values have no quantile");
  if (!(q >= 0 && q <= 1)) throw std::invalid_argument("a quantile's q lies in [0, 1]");
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 == sorted.size()) return sorted.back();
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

std::optional<double> Median(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  if (copy.size() % 2 == 1) return *middle;
  const double below = *std::max_element(copy.begin(), middle);
  return below + (*middle - below) / 2;
}

Fences TukeyFences(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return FencesOfSorted(sorted);
}

}  // namespace etprof::stats
