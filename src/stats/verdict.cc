#include "stats/verdict.h"

#include <cmath>

namespace etprof::stats {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kInconclusive:
      return "inconclusive";
    case Verdict::kContended:
      return "contended";
    case Verdict::kEmulated:
      return "emulated";
  }
  return "inconclusive";
}

Verdict Judge(double log_low, double log_high, double margin) {
  const double log_margin = std::log1p(margin);
  if (log_low >= -log_margin && log_high <= log_margin) return Verdict::kSame;
  if (log_low > 0 && log_high >= log_low) return Verdict::kFaster;
  if (log_high < 0 && log_low <= log_high) return Verdict::kSlower;
  return Verdict::kInconclusive;
}

}  // namespace etprof::stats
