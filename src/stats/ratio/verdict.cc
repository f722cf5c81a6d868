#include "stats/ratio/verdict.h"

#include <cmath>

namespace etprof::stats {

Verdict DecideVerdict(double log_low, double log_high, double margin) {
  const double log_margin = std::log1p(margin);
  if (log_low >= -log_margin && log_high <= log_margin) return Verdict::kSame;
  if (log_low > 0 && log_high >= log_low) return Verdict::kFaster;
  if (log_high < 0 && log_low <= log_high) return Verdict::kSlower;
  return Verdict::kInconclusive;
}

}  // namespace etprof::stats
