#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace etprof::stats {

// Counts of values in bins of one width, from the least value on. Empty `counts` for no values.
struct Histogram {
  double from = 0;
  double width = 0;  // 0 when all values on the axis are equal: then there is one bin
  std::vector<std::int64_t> counts;
  std::int64_t beyond = 0;  // values above the axis
};

// The histogram of finite `values`, any order, with bins 2 IQR / n^(1/3) wide (Freedman & Diaconis, "On the
// Histogram as a Density Estimator", 1981), but at most `most_bins` bins (at least 1). The axis ends at
// the 99 % quantile, as MakeSharedHistogram's does: a single far value would leave most bins empty.
Histogram MakeHistogram(std::span<const double> values, std::size_t most_bins = 60);

// Histograms of several sets of values on one axis, to be drawn above each other.
struct SharedHistogram {
  double from = 0;
  double width = 0;  // of a bin; 0 when all values are equal: then there is one bin
  std::vector<std::vector<std::int64_t>> counts;  // set by set, all as long; empty for no values at all
  std::vector<std::int64_t> beyond;               // set by set: values above the axis
};

// The axis goes from the least value of all to the largest of the sets' 99 % quantiles, or greatest values
// where a set has fewer than 100: single far values would leave no room for the rest. Bins are as wide as the
// set that asks for the narrowest ones wants them (as MakeHistogram, of what lies on the axis), but at most
// `most_bins` (at least 1). Values are finite, in any order.
SharedHistogram MakeSharedHistogram(std::span<const std::vector<double>> sets, std::size_t most_bins = 120);

// A point of the empirical distribution function: `share` of the values are at most `value`.
struct EcdfPoint {
  double value = 0;
  double share = 0;
};

// The empirical distribution function of finite `values`, any order: a point for each different value,
// thinned to at most `most_points` (at least 2) of about equal steps of share; the least and the greatest
// value are kept.
std::vector<EcdfPoint> MakeEcdf(std::span<const double> values, std::size_t most_points = 200);

}  // namespace etprof::stats
