#include "report/insight_words.h"

#include <fmt/format.h>

#include <cmath>

#include "core/units.h"

namespace etprof {

std::string Ms(double ns) { return std::fabs(ns) < 10'000 ? FormatDuration(ns) : FormatMilliseconds(ns); }

std::string Percent(double share) {
  if (share < 0.001) return "<0.1 %";
  return fmt::format("{:.{}f} %", share * 100, share < 0.0995 ? 1 : 0);
}

}  // namespace etprof
