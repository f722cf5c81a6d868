#pragma once

#include <cmath>

#include "core/json/describe.h"

namespace etprof::stats {

// The verdict of a comparison on the candidate. A result that is not significant is not kSame: kSame requires
// a narrow interval.
enum class Verdict {
  kSame,          // the interval lies within the margin
  kFaster,        // otherwise, the interval lies above a ratio of 1
  kSlower,        // otherwise, the interval lies below a ratio of 1
  kInconclusive,  // otherwise
  kContended,     // other processes left too few clean runs for an interval; never returned by DecideVerdict
  kEmulated,      // the CPU was emulated, so its times are not meaningful; never returned by DecideVerdict
};

// The verdict for an interval of log(baseline / candidate): the first that applies of kSame, kFaster,
// kSlower, kInconclusive. `margin` is relative (0.01 for ±1%). On the log scale it is ±log(1 + margin), so
// that exchanging the variants exchanges faster and slower and changes nothing else. kSame comes first: a
// difference that is significant but too small to matter is "same". An interval with NaN is inconclusive.
inline Verdict DecideVerdict(double log_low, double log_high, double margin) {
  const double log_margin = std::log1p(margin);
  if (log_low >= -log_margin && log_high <= log_margin) return Verdict::kSame;
  if (log_low > 0 && log_high >= log_low) return Verdict::kFaster;
  if (log_high < 0 && log_low <= log_high) return Verdict::kSlower;
  return Verdict::kInconclusive;
}

}  // namespace etprof::stats

namespace etprof {

template <>
inline constexpr const char* kNames<stats::Verdict>[] = {"same",         "faster",    "slower",
                                                         "inconclusive", "contended", "emulated"};

}  // namespace etprof
