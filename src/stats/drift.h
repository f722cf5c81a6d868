#pragma once

#include <span>

#include "core/random.h"

namespace etprof::stats {

// Fewer values than these cannot show a step beside drift.
inline constexpr std::size_t kLeastOfDrift = 6;

// How likely a series that only drifts looks as if its level changed at once, as much as this one does: the
// p-value of a level shift within an autoregressive process of order one.
//
// The statistic is the largest likelihood ratio, over the places of the shift, of "x(t) - d s(t) is such a
// process" against "x(t) is one" (the level shift of Tsay, "Outliers, Level Shifts, and Variance Changes in
// Time Series", Journal of Forecasting 7, 1988). Its distribution without a shift is simulated with the
// autocorrelation of the series, corrected for the bias that the estimate has in few values (Marriott & Pope,
// Biometrika 41, 1954); of a series that has a shift it is too large, which only costs power. A series that
// rises or falls all the time has a shift, too.
//
// Of fewer than kLeastOfDrift values, and of equal ones: 1.
double DriftPValue(std::span<const double> values, Random& random);

}  // namespace etprof::stats
