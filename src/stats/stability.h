#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace etprof::stats {

// A steady rise or fall of a series.
struct Trend {
  double relative_change = 0;  // change from first to last value along the slope, divided by the median
  double p_value = 0;          // two-sided, for the hypothesis "no trend"
};

// Finds the trend of `series` (finite, in the order of time): Theil's slope, the median of the slopes between
// all pairs (Theil 1950; Sen, JASA 63, 1968; scipy.stats.theilslopes), and the p-value of Kendall's tau
// between value and time (normal approximation with ties; scipy.stats.kendalltau, method "asymptotic"). A
// long series is first cut into 20 stretches, whose medians are used: on a machine with slow waves neighbors
// are correlated, and p-values of correlated values are too small. Absent for fewer than 8 values, for equal
// values, and for a median of 0 or less.
std::optional<Trend> FindTrend(std::span<const double> series);

// Theil's slope per step of the series, and Kendall's p-value, without cutting the series. At least 2 values.
double TheilSlope(std::span<const double> series);
double KendallP(std::span<const double> series);

// A change of a series to another level that persists, such as when a device begins to throttle.
struct Step {
  std::size_t index = 0;         // index of the first value of the later level
  double before = 0, after = 0;  // medians of the two levels
};

// Finds the step of `series` (finite, in the order of time). The cut has the least variance within both parts
// (of running medians of 3, which are robust to single outliers), with at least 5 values and a twentieth of
// them on each side. It is a step if Ashman's D (as in FindTwoLevels, but of medians and MADs) is at least 4,
// the levels differ by at least 3%, and at most a tenth of either part is nearer to the other level. A steady
// rise has a D of at most 2.8, because its cut in the middle leaves two uniform halves.
// In simulations of autoregressive values with a correlation of neighbors of 0.7, it finds a step in 5% of
// the series of 20 values and in none of 1000 series of 200 values. Absent otherwise, for fewer than 20
// values, and for medians of 0 or less.
std::optional<Step> FindStep(std::span<const double> series);

// Values that alternate between two levels, such as on a processor with two clock frequencies.
struct TwoLevels {
  double low = 0, high = 0;  // medians of the two levels
  double share_high = 0;     // share of the values at the high level, in (0, 1)
};

// Finds the two levels of `values` (finite, any order). The split has the least variance within both parts
// (Otsu 1979). There are two levels if Ashman's D = sqrt(2) |m1 - m2| / sqrt(s1^2 + s2^2) is at least 5
// (Ashman, Bird & Zepf, AJ 108, 1994, require 2 for known components; the halves of one normal sample
// have 2.6, those of a uniform sample 3.5), the smaller part has at least a tenth of the values, and the
// levels differ by at least 3%. Absent otherwise, and for fewer than 20 values.
std::optional<TwoLevels> FindTwoLevels(std::span<const double> values);

// The index of the first steady-state run in `runs` (finite latencies in the order they were run). The runs
// before it are warm-up: an opening that is slower than the rest. 0 if there is no warm-up, or for fewer than
// four runs. The index is at most half of the series, so a series that still falls in its middle gives about
// half.
//
// The level and the noise are those of the second half (median and MAD; the noise also from the steps between
// neighbors, and at least 0.1% of the level). The change point is the maximum of the cumulative sum of the
// opening runs' distances from the level, minus 1 sd per run (Page, "Continuous Inspection Schemes",
// Biometrika 41, 1954). A run counts for at most 4 sd, so a single outlier is no change point.
//
// An opening that is faster than the rest is no warm-up: it is the speed of the device before it throttles.
// The warm-up is then searched in that opening alone, as if the series ended where it got slower.
std::size_t FirstSteadyRun(std::span<const double> runs);

}  // namespace etprof::stats
