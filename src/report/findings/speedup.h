#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "core/json/describe.h"
#include "stats/ratio/launches.h"

namespace etprof {

struct Comparison;
struct ExperimentPair;

// Peaks within this relative tolerance count as equal, and a share of a peak may exceed 1 by it.
inline constexpr double kPeakTolerance = 0.05;
inline bool PeaksDiffer(double a, double b) {
  return std::fabs(std::log(a / b)) > std::log1p(kPeakTolerance);
}

// A speedup as two factors: the ratio of the compute peaks with the CPU features of both variants, and the
// ratio of the shares of the peak that they reach. It refers to the operators that the compute peak limits in
// both variants, not to the whole inference, whose other operators the compute peak does not explain: time =
// MACs / (peak x share of the peak), so that for equal MACs baseline time / candidate time = (candidate peak
// / baseline peak) x (candidate share / baseline share) exactly. docs/guides/bottlenecks.md.
struct SpeedupFactors {
  std::string dtype;
  std::int64_t operators = 0;  // number per inference
  std::int64_t macs = 0;
  double baseline_time_share = 0, candidate_time_share = 0;  // share of the traced mean, 0 to 1
  stats::RatioEstimate ratio;                    // baseline time / candidate time, by the sums of self times
  double baseline_peak = 0, candidate_peak = 0;  // MACs per second
  double baseline_share_of_peak = 0, candidate_share_of_peak = 0;  // share of the peak, 0 to 1

  static void Describe(auto& v) {
    using F = SpeedupFactors;
    v("dtype", &F::dtype, {.meaning = "that these operators multiply in: \"fp32\""});
    v("operators", &F::operators,
      {.meaning = "of one inference, that the compute peak limits in both variants", .min = 1});
    v("macs", &F::macs, {.meaning = "theirs, of one inference", .min = 1});
    v("share_of_baseline", &F::baseline_time_share, {.meaning = "of its traced mean", .min = 0, .max = 1});
    v("share_of_candidate", &F::candidate_time_share, {.meaning = "of its traced mean", .min = 0, .max = 1});
    v("ratio", [](const F& factors) { return factors.ratio.ratio(); },
      {.meaning = "above 1: the candidate is faster", .min = 0});
    v("ratio_low", [](const F& factors) { return factors.ratio.low(); },
      {.meaning = "of its interval", .min = 0});
    v("ratio_high", [](const F& factors) { return factors.ratio.high(); },
      {.meaning = "of its interval", .min = 0});
    v("peak_ratio", &F::PeakRatio, {.meaning = "candidate's compute peak over the baseline's", .min = 0});
    v("use_ratio", &F::UtilizationRatio,
      {.meaning = "candidate's share of its peak over the baseline's", .min = 0});
    v("baseline_peak_macs_per_s", &F::baseline_peak,
      {.meaning = "multiply-adds that its CPU features allow", .min = 0});
    v("candidate_peak_macs_per_s", &F::candidate_peak,
      {.meaning = "multiply-adds that its CPU features allow", .min = 0});
    v("baseline_share_of_peak", &F::baseline_share_of_peak,
      {.meaning = "that these operators reach", .min = 0});
    v("candidate_share_of_peak", &F::candidate_share_of_peak,
      {.meaning = "that these operators reach", .min = 0});
  }

  double PeakRatio() const { return candidate_peak / baseline_peak; }
  // Equal peaks explain nothing; then the speedup is due to better use of the peak.
  bool HasEqualPeaks() const { return !PeaksDiffer(candidate_peak, baseline_peak); }
  double UtilizationRatio() const { return candidate_share_of_peak / baseline_share_of_peak; }
};

// Returns nothing if the factors would mislead:
// - The latency and these operators are not both faster, or both slower.
// - Traced times do not add up to the headline (findings/traced.h).
// - Peaks are missing, equal for both variants, from other threads or CPUs, not steady, or from times with
//   different states of the machine.
// - The variants multiply in different or mixed data types.
// - These operators take less than half of the slower variant's time.
// - A share above 1 shows that the peak was measured on a slower machine.
std::optional<SpeedupFactors> FactorSpeedup(const ExperimentPair& variants, const Comparison& comparison);

}  // namespace etprof
