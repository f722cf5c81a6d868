#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "core/json/describe.h"

namespace etprof::stats {

// One launch (one process of the baseline and one of the candidate) of a paired comparison: the median of
// each burst in ns, one burst per round; the same index is the same round. NaN marks a missing burst. Both
// vectors have the same length.
struct LaunchBursts {
  std::vector<double> baseline;
  std::vector<double> candidate;
};

// The effect of one launch: the median over its rounds of log(baseline / candidate). Above 0, the candidate
// is faster. A round counts only if both bursts exist and are positive; absent if no round counts. Throws
// std::invalid_argument if the vectors differ in length.
std::optional<double> LaunchEffect(const LaunchBursts& launch);

// An estimate of the ratio baseline / candidate of two latencies (above 1: the candidate is faster), on a
// natural logarithmic scale, on which the interval is symmetric and exchanging the two variants only changes
// the sign.
struct RatioEstimate {
  double log_ratio = 0;
  double log_low = 0;  // interval at `confidence`
  double log_high = 0;
  double standard_error = 0;      // standard error of log_ratio
  double degrees_of_freedom = 0;  // for Student's t of interval and p-value; launches - 1 if paired
  // Two-sided p-value of the hypothesis "log_ratio is 0"; absent if log_ratio and standard_error are both 0.
  std::optional<double> p_value;
  int launches = 0;       // 0 if the variants were not paired by launches
  int rounds = 0;         // rounds that counted, over all launches; 0: unknown
  double confidence = 0;  // in (0, 1), e.g. 0.95; 1 makes the interval infinite
  // The logarithm of the geometric mean of the two latencies; absent if only effects are known. For paired
  // launches it is the mean over the launches of the median over the rounds, otherwise it lies halfway
  // between the values of the two variants.
  std::optional<double> log_middle;
  // False: the two times differ by less than the resolution of the measurement (MarkUnresolved).
  bool resolved = true;
  double systematic_error = 0;  // the interval is wider by this on both sides (WithSystematicError)

  static void Describe(auto& v) {
    v("ratio", &RatioEstimate::ratio,
      {.meaning = "baseline / candidate: above 1, the candidate needs less", .min = 0});
    v("ratio_low", &RatioEstimate::low, {.meaning = "lower bound of the ratio", .min = 0});
    v("ratio_high", &RatioEstimate::high,
      {.meaning = "upper bound of the ratio; null: unbounded", .min = 0, .or_null = true});
    v("confidence", &RatioEstimate::confidence,
      kShareOfWhole.WithMeaning("of the interval from `ratio_low` to `ratio_high`"));
    v("p_value", &RatioEstimate::p_value,
      kShareOfWhole.WithMeaning("two-sided, of the claim that there is no difference"));
  }

  double ratio() const { return std::exp(log_ratio); }
  // The two times whose quotient is ratio(), in the unit of the compared values.
  std::optional<double> baseline() const {
    return log_middle ? std::optional(std::exp(*log_middle + log_ratio / 2)) : std::nullopt;
  }
  std::optional<double> candidate() const {
    return log_middle ? std::optional(std::exp(*log_middle - log_ratio / 2)) : std::nullopt;
  }
  double low() const { return std::exp(log_low); }
  double high() const { return std::exp(log_high); }
  // The relative half-width sqrt(high / low) - 1: 0.005 is ±0.5%.
  double half_width() const { return std::expm1((log_high - log_low) / 2); }
};

inline constexpr int kMinLaunches = 2;  // an interval needs at least two launches

// A paired comparison with the launch as its unit. The memory layout gives every process its own effect,
// which more runs do not average out (Mytkowicz et al., "Producing Wrong Data Without Doing Anything
// Obviously Wrong!", ASPLOS 2009; Kalibera & Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013).
// The estimate is the mean of the L launch effects. Interval and p-value are those of Student's one-sample t
// with L - 1 degrees of freedom. Effects that are not finite are left out. Absent for fewer than 2 launches.
// Throws std::invalid_argument for a confidence outside (0, 1].
std::optional<RatioEstimate> EstimateRatio(std::span<const double> launch_effects, double confidence);

// Estimates the ratio from bursts: uses LaunchEffect of each launch that has an effect, and also sets
// `rounds` and `log_middle`.
std::optional<RatioEstimate> EstimateRatio(std::span<const LaunchBursts> launches, double confidence);

// Sets p-value and interval of an estimate whose other members are set.
RatioEstimate AddInterval(RatioEstimate estimate, double confidence);

// A copy with the interval at another confidence, from the standard error and the degrees of freedom.
RatioEstimate WithConfidence(const RatioEstimate& estimate, double confidence);

// A copy for two times that differ by less than the resolution of the measurement. Its p-value is 1, and its
// interval, at this and at every other confidence, is extended to a ratio of 1 if it would exclude 1. So no
// test calls the candidate faster or slower, and no interval contradicts that. Both changes only lose
// evidence: a false discovery rate and a coverage that hold without this also hold with it.
RatioEstimate MarkUnresolved(const RatioEstimate& estimate);

// A copy for launches that share an error of up to `error` (of log_ratio, >= 0), which their spread cannot
// show. The interval is wider by `error` on both sides, at every confidence, and the p-value is that of the
// remaining difference: the test of |log_ratio| <= error.
RatioEstimate WithSystematicError(const RatioEstimate& estimate, double error);

}  // namespace etprof::stats
