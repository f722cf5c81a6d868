#pragma once

#include "core/json/describe.h"

namespace etprof::stats {

// What a comparison says of the candidate. "Not significant" is never kSame: that takes an interval.
enum class Verdict {
  kSame,          // the interval lies within the margin
  kFaster,        // else it lies above a ratio of 1
  kSlower,        // else it lies below a ratio of 1
  kInconclusive,  // else
  kContended,     // other processes left too few clean runs for an interval; never given by Judge
  kEmulated,      // the CPU was emulated: its times are not meaningful; never given by Judge
};

// The verdict of an interval of log(baseline / candidate), by the first rule that holds of kSame, kFaster,
// kSlower, kInconclusive. `margin` is relative (0.01 for +-1 %); on the log scale it is +-log(1 + margin), so
// that exchanging the sides exchanges faster and slower and changes nothing else. kSame comes first: a
// difference that is certain but too small to matter is "same". An interval with NaN is inconclusive.
Verdict Judge(double log_low, double log_high, double margin);

}  // namespace etprof::stats

namespace etprof {

template <>
inline constexpr NamedValue<stats::Verdict> kNames<stats::Verdict>[] = {
    {stats::Verdict::kSame, "same"},           {stats::Verdict::kFaster, "faster"},
    {stats::Verdict::kSlower, "slower"},       {stats::Verdict::kInconclusive, "inconclusive"},
    {stats::Verdict::kContended, "contended"}, {stats::Verdict::kEmulated, "emulated"}};

}  // namespace etprof
