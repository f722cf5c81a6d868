#include "stats/line/line.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "stats/ratio/student_t.h"

namespace etprof::stats {
namespace {

double Mean(std::span<const double> values) {
  double mean = 0, count = 0;
  for (const double value : values) mean += (value - mean) / ++count;
  return mean;
}

}  // namespace

Line FitLine(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) throw std::invalid_argument("a line needs a y for each x");
  const double mean_x = x.empty() ? 0 : Mean(x);
  double squares = 0, products = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += (x[i] - mean_x) * (x[i] - mean_x);
    products += (x[i] - mean_x) * y[i];
  }
  if (squares <= 0) throw std::invalid_argument("a line needs two places");
  const double slope = products / squares;
  return {Mean(y) - slope * mean_x, slope};
}

MeanInterval IntervalOfMean(std::span<const double> values, double confidence) {
  if (values.empty()) throw std::invalid_argument("the mean of nothing");
  const double mean = Mean(values);
  const auto count = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double half = count > 1
                          ? CriticalValue(confidence, count - 1) * std::sqrt(squares / (count - 1) / count)
                          : std::numeric_limits<double>::infinity();
  return {mean, mean - half, mean + half};
}

std::optional<LineEstimate> EstimateLine(std::span<const double> places,
                                         std::span<const std::vector<double>> launches, double confidence) {
  if (launches.empty() || places.size() < 2 || std::ranges::min(places) == std::ranges::max(places))
    return std::nullopt;
  std::vector<double> intercepts, slopes, means(places.size());
  for (const std::vector<double>& launch : launches) {
    const Line line = FitLine(places, launch);
    intercepts.push_back(line.intercept);
    slopes.push_back(line.slope);
    for (std::size_t i = 0; i < places.size(); ++i)
      means[i] += launch[i] / static_cast<double>(launches.size());
  }
  LineEstimate estimate;
  estimate.intercept = IntervalOfMean(intercepts, confidence);
  estimate.slope = IntervalOfMean(slopes, confidence);
  estimate.launches = static_cast<int>(launches.size());
  const double mean = Mean(means);
  if (places.size() < 3 || mean <= 0) return estimate;
  estimate.misfit = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double off = std::abs(means[i] - estimate.intercept.mean - estimate.slope.mean * places[i]) / mean;
    if (off <= *estimate.misfit) continue;
    estimate.misfit = off;
    estimate.misfit_at = i;
  }
  return estimate;
}

}  // namespace etprof::stats
