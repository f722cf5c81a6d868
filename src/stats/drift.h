#pragma once

#include <span>

#include "core/random.h"

namespace etprof::stats {

// In a series with fewer values no step can be distinguished from drift.
inline constexpr std::size_t kMinDriftValues = 6;

// The probability that a series that only drifts looks as if its level changed at once, as much as this
// series does: the p-value of a level shift within an autoregressive process of order one.
//
// The statistic is the largest likelihood ratio, over all places of the shift, of "x(t) - d s(t) is such a
// process" against "x(t) is such a process" (the level shift of Tsay, "Outliers, Level Shifts, and Variance
// Changes in Time Series", Journal of Forecasting 7, 1988). Its distribution without a shift is simulated
// with the autocorrelation of the series, corrected for the bias of the estimate for few values (Marriott &
// Pope, Biometrika 41, 1954). If the series has a shift, that autocorrelation is too large, which only costs
// power. A series that rises or falls all the time also counts as shifted.
//
// Returns 1 for fewer than kMinDriftValues values and for equal values.
double DriftPValue(std::span<const double> values, Random& random);

}  // namespace etprof::stats
