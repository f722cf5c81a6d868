#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace etprof::stats {

// A series that goes up or down as a whole.
struct Trend {
  double relative_change = 0;  // from the first value to the last along the slope, over the median
  double p_value = 0;          // two-sided, of "no trend"
};

// The trend of `series` (finite, in the order of time): Theil's slope, the median of the slopes between all
// pairs (Theil 1950; Sen, JASA 63, 1968; scipy.stats.theilslopes), and the p-value of Kendall's tau between
// value and time (normal approximation with ties; scipy.stats.kendalltau, method "asymptotic"). A long series
// is first cut into 20 stretches of which the medians are taken: neighbors are alike on a machine with slow
// waves, and p-values of values that depend on each other are too small. Absent for fewer than 8 values, all
// equal ones, and a median of 0 or less.
std::optional<Trend> FindTrend(std::span<const double> series);

// Theil's slope, per step of the series, and Kendall's p as above, of the series as it is. At least 2 values.
double TheilSlope(std::span<const double> series);
double KendallP(std::span<const double> series);

// A series that goes over to another level and stays there, as of a device that begins to throttle.
struct Step {
  std::size_t index = 0;         // of the first value of the later level
  double before = 0, after = 0;  // medians of the two
  double separation = 0;         // Ashman's D, of medians and MADs
};

// The step of `series` (finite, in the order of time), where there is one: the cut in time that leaves the
// least variance within (of running medians of 3, that single outliers do not move it), with at least 5
// values and a twentieth of them on each side, parts them by Ashman's D (as FindTwoLevels) of at least 4, and
// the levels lie 3 % apart or more. A steady rise has 2.8 at most: its cut in the middle leaves two uniform
// halves. In simulations of autoregressive values whose neighbors correlate by 0.7 it finds one in 5 % of
// the series of 20 values and in none of 1000 of 200 values. Absent otherwise, for fewer than 20 values and
// for medians of 0 or less.
std::optional<Step> FindStep(std::span<const double> series);

// Values that come from two levels, as of a processor that has two clocks.
struct TwoLevels {
  double low = 0, high = 0;  // medians of the two
  double share_high = 0;     // of the values, in (0, 1)
  double separation = 0;     // Ashman's D
};

// The two levels of `values` (finite, any order), where there are two: the split that leaves the least
// variance within (Otsu 1979) parts them by Ashman's D = sqrt(2) |m1 - m2| / sqrt(s1^2 + s2^2) of at least 5
// (Ashman, Bird & Zepf, AJ 108, 1994, ask for 2 of known components; the halves of one normal sample have
// 2.6, those of a uniform one 3.5), the smaller holds a tenth of the values or more, and the levels lie 3 %
// apart or more. Absent otherwise, and for fewer than 20 values.
std::optional<TwoLevels> FindTwoLevels(std::span<const double> values);

}  // namespace etprof::stats
