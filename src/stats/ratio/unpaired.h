#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "stats/ratio/launches.h"

namespace etprof::stats {

// The integrated autocorrelation time in runs, 1 + 2 sum of autocorrelations: this many runs carry as much
// information as one independent run. At least 1. It is computed for the indicator "above the median", on
// which the variance of a median depends (Sen, "Asymptotic Normality of Sample Quantiles for m-Dependent
// Processes", 1968) and which is robust to outliers. The sum ends at the first lag that is at least 5 times
// the sum (Sokal, "Monte Carlo Methods in Statistical Mechanics", 1997).
double AutocorrelationTime(std::span<const double> runs);

// The effective sample size of a series for its median: its length divided by the larger of
// AutocorrelationTime and the time of an autoregressive series with the same correlation of neighbors (their
// rank correlation, corrected for the bias of a short series: Kendall, "Note on Bias in the Estimation of
// Autocorrelation", Biometrika 41, 1954). AutocorrelationTime alone is too small for short series, for which
// it matters most. 0 for fewer than 2 runs.
double IndependentRuns(std::span<const double> runs);

// If one of the series has fewer runs, or fewer independent runs, there is no interval.
inline constexpr std::size_t kMinUnpairedRuns = 10;
inline constexpr double kMinIndependentRuns = 5;

// The number of consecutive runs that are resampled together: the larger of n^(1/3) (the optimal order for a
// variance: Hall, Horowitz & Jing, "On Blocking Rules for the Bootstrap with Dependent Data", Biometrika 82,
// 1995) and five autocorrelation times (in simulations of autoregressive runs, three undercovered), but at
// most a fifth of the series.
std::size_t BatchLength(std::span<const double> runs);

// Compares two series of latencies (ns, each in the order it was run) that share no rounds: log(median of the
// baseline / median of the candidate). The standard error is that of a bootstrap over whole batches of
// BatchLength consecutive runs (Carlstein, "The Use of Subseries Values for Estimating the Variance of a
// General Statistic from a Stationary Sequence", Annals of Statistics 14, 1986), with 1000 resamples per
// series. Interval and p-value are those of Student's t with the degrees of freedom of the series with fewer
// batches.
// The same seed gives the same numbers on every platform.
//
// In a short series with strong autocorrelation, batches are not independent, and there are few of them. So
// the variance is at least, and the degrees of freedom are at most, those of IndependentRuns runs: the
// variance from the quantiles one standard error of the rank away from the median (Woodruff, "Confidence
// Intervals for Medians and Other Position Measures", JASA 47, 1952). In simulations of autoregressive runs
// (12 to 1000 runs, correlation of neighbors 0 to 0.95), at most 5% (±1 percentage point) of all comparisons
// have a 95% interval that misses the truth. Among comparisons with an interval the share is higher in cases
// in which nearly all comparisons have no interval.
//
// The interval does not include drift between the two series (WithDrift adds it), nor the effect of each
// process: a report must say so. `launches` and `rounds` are 0. Runs that are not finite and positive are
// left out. Absent if one of the series then has fewer than 10 runs, or fewer than kMinIndependentRuns
// independent runs. Throws std::invalid_argument for a confidence outside (0, 1].
std::optional<RatioEstimate> EstimateUnpaired(std::span<const double> baseline,
                                              std::span<const double> candidate, double confidence,
                                              std::uint64_t seed);

// Compares two series with one value per launch (latency, load time or peak memory, in any unit) of unpaired
// launches: log(geometric mean of the baseline / of the candidate), with its standard error as for Welch's t,
// and interval and p-value of Student's t with the degrees of freedom of the series with fewer launches. Such
// intervals cover the truth in at least `confidence` of all cases, whatever the two variances are (Mickey &
// Brown, "Bounds on the Distribution Functions of the Behrens-Fisher Statistic", Annals of Mathematical
// Statistics 37, 1966). Welch's own degrees of freedom make up to 12% of comparisons of two launches with ten
// miss it. The interval includes the effect of each process, but not drift between the two series (WithDrift
// adds it). `launches` and `rounds` are 0. Values that are not finite and positive are left out; absent if
// one of the series then has fewer than 2. Throws std::invalid_argument for a confidence outside (0, 1].
std::optional<RatioEstimate> EstimateUnpairedLaunches(std::span<const double> baseline,
                                                      std::span<const double> candidate, double confidence);
// EstimateUnpairedLaunches followed by WithDrift.
std::optional<RatioEstimate> EstimateLaunchesWithDrift(std::span<const double> baseline,
                                                       std::span<const double> candidate, double confidence,
                                                       double drift);

// The standard deviation of the logarithm of a measurement that is repeated on the same machine at another
// time without any change, beyond the spread of its launches. On a shared virtual machine 20 measurements of
// a model differ by twice what their launches explain: by 1.6 to 3.6%, whatever else the machine does
// (bench/results/statistics/apart.md).
inline constexpr double kDriftBetweenMeasurements = 0.015;

// A copy for variants that were measured at different times. The variance grows by that of `drift`, the
// standard deviation of one measurement's logarithm, for each variant (a random effect of the measurement
// with known variance). The degrees of freedom grow by the same factor as the variance. Welch's formula,
// which squares the factor, misses the truth in up to 12% of all comparisons if two launches happen to agree.
RatioEstimate WithDrift(const RatioEstimate& estimate, double drift);

}  // namespace etprof::stats
