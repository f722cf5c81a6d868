#include "stats/line/line.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "stats/compensated_sum.h"
#include "stats/ratio/launches.h"

namespace etprof::stats {

Line FitLine(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) throw std::invalid_argument("a line needs a y for each x");
  if (x.size() < 2) throw std::invalid_argument("a line needs two places");
  const double mean_x = CompensatedMean(x), squares = SquaredDeviations(x, mean_x);
  if (squares <= 0) throw std::invalid_argument("a line needs two places");
  double products = 0;
  for (std::size_t i = 0; i < x.size(); ++i) products += (x[i] - mean_x) * y[i];
  const double slope = products / squares;
  return {CompensatedMean(y) - slope * mean_x, slope};
}

MeanInterval IntervalOfMean(std::span<const double> values, double confidence) {
  if (values.empty()) throw std::invalid_argument("the mean of nothing");
  const auto estimate = EstimateRatio(values, confidence);
  if (estimate) return {estimate->log_ratio, estimate->log_low, estimate->log_high};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {values[0], -kInfinity, kInfinity};
}

std::optional<LineEstimate> EstimateLine(std::span<const double> x,
                                         std::span<const std::vector<double>> launches, double confidence) {
  if (launches.empty() || x.size() < 2 || std::ranges::min(x) == std::ranges::max(x)) return std::nullopt;
  std::vector<double> intercepts, slopes, means(x.size());
  for (const std::vector<double>& launch : launches) {
    const Line line = FitLine(x, launch);
    intercepts.push_back(line.intercept);
    slopes.push_back(line.slope);
    for (std::size_t i = 0; i < x.size(); ++i) means[i] += launch[i] / static_cast<double>(launches.size());
  }
  LineEstimate estimate;
  estimate.intercept = IntervalOfMean(intercepts, confidence);
  estimate.slope = IntervalOfMean(slopes, confidence);
  estimate.launches = static_cast<int>(launches.size());
  const double mean = CompensatedMean(means);
  if (x.size() < 3 || mean <= 0) return estimate;
  estimate.misfit = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double deviation = std::abs(means[i] - estimate.intercept.mean - estimate.slope.mean * x[i]) / mean;
    if (deviation <= *estimate.misfit) continue;
    estimate.misfit = deviation;
    estimate.misfit_index = i;
  }
  return estimate;
}

}  // namespace etprof::stats
