#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/json/describe.h"

namespace etprof::stats {

// y = intercept + slope * x, fitted by least squares. Intercept and slope are linear in y, so with the same x
// the lines of several y add up to the line of the sum of these y.
struct Line {
  double intercept = 0, slope = 0;
  double At(double x) const { return intercept + slope * x; }
};
// Throws std::invalid_argument if `x` and `y` have different lengths, or if `x` has fewer than two distinct
// values.
Line FitLine(std::span<const double> x, std::span<const double> y);

// A mean with its interval, which is infinite if there is only one launch.
struct MeanInterval {
  double mean = 0, low = 0, high = 0;
};
// The mean of the values of independent launches, with the interval of Student's t. Throws
// std::invalid_argument if `values` is empty.
MeanInterval IntervalOfMean(std::span<const double> values, double confidence);

// The line through measurements at the same values of x in several launches. Each launch is fitted
// separately, so that the coefficients of the launches are independent values. Drift within a launch biases
// the slope unless the values of x were measured in random order.
struct LineEstimate {
  MeanInterval intercept, slope;
  int launches = 0;
  // The largest distance of the mean at an x from the line, relative to the mean over all x. Absent for two
  // values of x, through whose means a line always passes.
  std::optional<double> misfit;
  std::size_t misfit_index = 0;  // index of the x with the largest distance
};
// `launches` contains the y of all `x`, per launch. Absent if there is no launch, or if `x` has fewer than
// two distinct values.
std::optional<LineEstimate> EstimateLine(std::span<const double> x,
                                         std::span<const std::vector<double>> launches, double confidence);

}  // namespace etprof::stats
