#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace etprof::stats {

// Counts of values in bins of equal width, starting at the smallest value. `counts` is empty for no values.
struct Histogram {
  double from = 0;
  double width = 0;  // 0 if all values on the axis are equal: then there is one bin
  std::vector<std::int64_t> counts;
  std::int64_t above_axis = 0;  // number of values above the axis
};

// Makes the histogram of finite `values`, in any order, with bins 2 IQR / n^(1/3) wide (Freedman & Diaconis,
// "On the Histogram as a Density Estimator", 1981), but at most `max_bins` bins (at least 1). The axis ends
// at the 99% quantile as in MakeSharedHistogram, because a single far value would leave most bins empty.
Histogram MakeHistogram(std::span<const double> values, std::size_t max_bins = 60);

// Histograms of several sets of values on one axis, to be drawn above each other.
struct SharedHistogram {
  double from = 0;
  double width = 0;  // width of a bin; 0 if all values are equal: then there is one bin
  std::vector<std::vector<std::int64_t>> counts;  // per set, all of the same length; empty: no values at all
  std::vector<std::int64_t> above_axis;           // per set: number of values above the axis
};

// Makes histograms on one axis. The axis goes from the smallest value of all sets to the largest of the sets'
// 99% quantiles (for a set of fewer than 100 values, its largest value), because single far values would
// leave no room for the rest. The bins are as wide as the narrowest bins that any set needs (as in
// MakeHistogram, for the values on the axis), but there are at most `max_bins` (at least 1). Values are
// finite, in any order.
SharedHistogram MakeSharedHistogram(std::span<const std::vector<double>> sets, std::size_t max_bins = 120);

// A point of the empirical distribution function: `share` of the values are at most `value`.
struct EcdfPoint {
  double value = 0;
  double share = 0;
};

// Makes the empirical distribution function of finite `values`, in any order: one point per distinct value,
// thinned to at most `max_points` (at least 2) in about equal steps of share. The smallest and the largest
// value are kept.
std::vector<EcdfPoint> MakeEcdf(std::span<const double> values, std::size_t max_points = 200);

}  // namespace etprof::stats
