#include "core/number.h"

#include <fmt/format.h>

#include <cmath>

namespace etprof {

std::string ThreeDigits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::string FormatNumber(double value) {
  constexpr int kMostDecimals = 12;  // what is smaller is what rounding left of a difference
  const double magnitude = std::fabs(value);
  if (magnitude >= 0.1) return ThreeDigits(value);
  int decimals = magnitude < 0.01 ? 4 : 3;
  double shown = magnitude * 1e4;  // in units of the last digit
  for (; decimals < kMostDecimals && shown < 0.5; ++decimals) shown *= 10;
  if (shown < 0.5) return "0.00";
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace etprof
