#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "core/json/describe.h"

namespace etprof::stats {

// One launch (one process of each side) of a paired comparison: the medians of its bursts in ns, one a round,
// index by index of the same round. NaN stands for a burst that is missing. Both sides have the same length.
struct LaunchBursts {
  std::vector<double> baseline;
  std::vector<double> candidate;
};

// What one launch says: the median over its rounds of log(baseline / candidate), so above 0 the candidate is
// faster. A round counts only when both bursts are there and positive; without any such round the launch says
// nothing (absent). Throws std::invalid_argument when the sides differ in length.
std::optional<double> LaunchEffect(const LaunchBursts& launch);

// An estimate of the ratio baseline / candidate of two latencies (above 1: the candidate is faster), on the
// scale of natural logarithms, where the interval is symmetric and exchanging the sides only changes the
// sign.
struct RatioEstimate {
  double log_ratio = 0;
  double log_low = 0;  // the interval at `confidence`
  double log_high = 0;
  double standard_error = 0;      // of log_ratio
  double degrees_of_freedom = 0;  // of Student's t behind interval and p-value; launches - 1 when paired
  std::optional<double>
      p_value;       // two-sided, of "log_ratio is 0"; absent when log_ratio and standard_error are both 0
  int launches = 0;  // 0 when the two sides were not paired by launches
  int rounds = 0;    // that counted, over all launches; 0 when not known
  double confidence = 0;  // in (0, 1), e.g. 0.95; 1 makes the interval infinite
  // The middle of the two sides, a logarithm too; absent where only effects are known. Of paired launches:
  // the mean over the launches of the median over the rounds of the two bursts' middle; of others halfway
  // between the sides' own values.
  std::optional<double> log_middle;
  // False: the two times differ by less than the measurement resolves (Unresolved).
  bool resolved = true;
  double systematic_error = 0;  // the interval reaches so much farther on either side (WithSystematicError)

  static void Describe(auto& v) {
    v("ratio", &RatioEstimate::ratio,
      {.meaning = "baseline / candidate: above 1, the candidate needs less", .least = 0});
    v("ratio_low", &RatioEstimate::low, {.meaning = "lower bound of the ratio", .least = 0});
    v("ratio_high", &RatioEstimate::high,
      {.meaning = "upper bound of the ratio; null: unbounded", .least = 0, .or_null = true});
    v("confidence", &RatioEstimate::confidence,
      kShareOfWhole.Means("of the interval from `ratio_low` to `ratio_high`"));
    v("p_value", &RatioEstimate::p_value,
      kShareOfWhole.Means("two-sided, of the claim that there is no difference"));
  }

  double ratio() const { return std::exp(log_ratio); }
  // The times that the ratio is one of: their quotient is ratio(). In the unit of what was compared.
  std::optional<double> baseline() const {
    return log_middle ? std::optional(std::exp(*log_middle + log_ratio / 2)) : std::nullopt;
  }
  std::optional<double> candidate() const {
    return log_middle ? std::optional(std::exp(*log_middle - log_ratio / 2)) : std::nullopt;
  }
  double low() const { return std::exp(log_low); }
  double high() const { return std::exp(log_high); }
  // Relative half-width: 0.005 is +-0.5 %. sqrt(high / low) - 1.
  double half_width() const { return std::expm1((log_high - log_low) / 2); }
};

inline constexpr int kLeastLaunches = 2;  // that an interval needs

// The paired comparison with the launch as its unit: memory layout makes every process an effect of its own,
// which no number of runs averages out (Mytkowicz et al., "Producing Wrong Data Without Doing Anything
// Obviously Wrong!", ASPLOS 2009; Kalibera & Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013).
// The estimate is the mean of the L launch effects, its interval and p-value are those of Student's
// one-sample t with L - 1 degrees of freedom. Effects that are not finite are left out. Absent for fewer than
// 2 launches. Throws std::invalid_argument for a confidence outside (0, 1].
std::optional<RatioEstimate> EstimateRatio(std::span<const double> launch_effects, double confidence);

// The same from the bursts: LaunchEffect of each launch that has one; fills `rounds` and `log_middle`.
std::optional<RatioEstimate> EstimateRatio(std::span<const LaunchBursts> launches, double confidence);

// The same estimate with its interval at another confidence, from its standard error and degrees of freedom.
RatioEstimate WithConfidence(const RatioEstimate& estimate, double confidence);

// The same estimate of two times that differ by less than the measurement resolves. Its p-value is 1, and its
// interval, at this and at every other confidence, is extended to a ratio of 1 where it would exclude 1. So
// no test calls it faster or slower, and no interval says otherwise. Both only lose evidence: a false
// discovery rate and a coverage that hold without this hold with it.
RatioEstimate Unresolved(const RatioEstimate& estimate);

// The same estimate where an error of up to `error` (of log_ratio, >= 0) is the same in all launches, so that
// their spread does not show it. The interval is longer by it on both sides, at every confidence, and the
// p-value is that of the difference that it leaves: the test of |log_ratio| <= error.
RatioEstimate WithSystematicError(const RatioEstimate& estimate, double error);

}  // namespace etprof::stats
