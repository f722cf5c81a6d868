#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/json/describe.h"

namespace etprof::stats {

// y = intercept + slope * x by least squares. Both are linear in y: with the same x the lines of parts add up
// to the line of their sum.
struct Line {
  double intercept = 0, slope = 0;
  double At(double x) const { return intercept + slope * x; }
};
// Throws std::invalid_argument for sides of different lengths, and fewer than two different x.
Line FitLine(std::span<const double> x, std::span<const double> y);

// A value with its interval; an infinite interval where there is only one launch.
struct MeanInterval {
  double mean = 0, low = 0, high = 0;
};
// The mean of values of independent launches with Student's t. Throws std::invalid_argument for none.
MeanInterval IntervalOfMean(std::span<const double> values, double confidence);

// The line through measurements at the same places in several launches: one fit a launch, whose coefficients
// are the independent values. Drift within a launch is no slope only where its places were measured in random
// order.
struct LineEstimate {
  MeanInterval intercept, slope;
  int launches = 0;
  // How far the mean at a place lies from the line, at most, over the mean of all places; absent where two
  // places leave nothing to miss.
  std::optional<double> misfit;
  std::size_t misfit_at = 0;  // index of that place
};
// `launches` holds y at each place, launch by launch. Absent for no launch, and fewer than two places.
std::optional<LineEstimate> EstimateLine(std::span<const double> places,
                                         std::span<const std::vector<double>> launches, double confidence);

}  // namespace etprof::stats
