#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "stats/ratio/launches.h"

namespace etprof::stats {

// The integrated autocorrelation time in runs, 1 + 2 sum of autocorrelations: so many runs say as much as one
// independent run. At least 1. Taken of the indicator "above the median", on which the variance of a median
// depends (Sen, "Asymptotic Normality of Sample Quantiles for m-Dependent Processes", 1968) and which
// outliers cannot swamp. The sum ends at the first lag of 5 times itself (Sokal, "Monte Carlo Methods in
// Statistical Mechanics", 1997).
double AutocorrelationTime(std::span<const double> runs);

// As many independent runs as a series says as much as, of its median: its length over the larger of
// AutocorrelationTime and that of an autoregressive series with the same likeness of neighbors (their rank
// correlation, with the bias of a short series taken off: Kendall, "Note on Bias in the Estimation of
// Autocorrelation", Biometrika 41, 1954). The sum above comes out too small where the series is short, and
// just then it would be needed. 0 for fewer than 2 runs.
double IndependentRuns(std::span<const double> runs);

// Fewer runs, or fewer independent runs, than these on a side, and there is no interval.
inline constexpr std::size_t kLeastRuns = 10;
inline constexpr double kLeastIndependentRuns = 5;

// The number of consecutive runs to resample as one: the larger of n^(1/3) (the order that is best for a
// variance: Hall, Horowitz & Jing, "On Blocking Rules for the Bootstrap with Dependent Data", Biometrika 82,
// 1995) and five autocorrelation times (in simulations of autoregressive runs, three undercovered), at most a
// fifth of the series.
std::size_t BatchLength(std::span<const double> runs);

// Compares two series of latencies (ns, each in the order it was run) that share no rounds: log(median of the
// baseline / median of the candidate). The standard error is a bootstrap's over whole batches of BatchLength
// consecutive runs (Carlstein, "The Use of Subseries Values for Estimating the Variance of a General
// Statistic from a Stationary Sequence", Annals of Statistics 14, 1986), 1000 resamples of each side;
// interval and p-value are Student's t with Welch's degrees of freedom counted in batches. The same seed
// gives the same numbers on every platform.
//
// Batches of a short series that is much like itself are no longer independent, and a few of them say little.
// So the variance is no less, and the degrees of freedom no more, than IndependentRuns have: the variance
// from the quantiles one standard error of the rank beside the median (Woodruff, "Confidence Intervals for
// Medians and Other Position Measures", JASA 47, 1952). In simulations of autoregressive runs, from 12 to
// 1000 runs and neighbors that correlate by 0 to 0.95, at most 5 % of all comparisons, give or take a point,
// have a 95 % interval that leaves the truth out; of those with an interval more do where nearly all have
// none.
//
// It cannot see drift between the two series (WithDrift adds it), nor what each process adds of its own:
// whoever shows it must say so. `launches` and `rounds` are 0. Runs that are not finite and positive are left
// out; absent when fewer than 10, or fewer than kLeastIndependentRuns independent ones, are left on a side.
// Throws std::invalid_argument for a confidence outside (0, 1].
std::optional<RatioEstimate> EstimateUnpaired(std::span<const double> baseline,
                                              std::span<const double> candidate, double confidence,
                                              std::uint64_t seed);

// Compares two series that hold one value a launch (its latency, load time or peak memory, in any unit), of
// launches that were not paired: log(geometric mean of the baseline / of the candidate) with interval and
// p-value of Welch's t (Welch, "The Generalization of Student's Problem when Several Different Population
// Variances are Involved", Biometrika 34, 1947); the same as scipy.stats.ttest_ind(equal_var=False) of the
// logarithms. It knows what each process adds of its own, and cannot see drift between the two series
// (WithDrift adds it).
// `launches` and `rounds` are 0. Values that are not finite and positive are left out; absent when fewer than
// 2 are left on a side. Throws std::invalid_argument for a confidence outside (0, 1].
std::optional<RatioEstimate> EstimateUnpairedLaunches(std::span<const double> baseline,
                                                      std::span<const double> candidate, double confidence);
// The same WithDrift.
std::optional<RatioEstimate> EstimateLaunchesWithDrift(std::span<const double> baseline,
                                                       std::span<const double> candidate, double confidence,
                                                       double drift);

// By how much the same measurement differs when it is repeated on the same machine at another time, without
// any change: the standard deviation of its logarithm, beyond what its launches show. On a shared virtual
// machine 20 measurements of a model differ by two times what their launches explain: by 1.6 to 3.6%,
// whatever else it does (bench/results/statistics/apart.md).
inline constexpr double kDriftBetweenMeasurements = 0.015;

// The same estimate of sides that were measured at different times: with the variance that `drift`, the
// standard deviation of one measurement's logarithm, adds on each side (a random effect of the measurement
// whose variance is known).
RatioEstimate WithDrift(const RatioEstimate& estimate, double drift);

}  // namespace etprof::stats
