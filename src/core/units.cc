#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace etprof {
namespace {

// Three significant digits for |value| < 1000, integers above.
std::string ThreeDigits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

template <std::size_t kUnits>
std::string Scaled(double value, const std::array<const char*, kUnits>& units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::fabs(value) >= 999.5) {
    value /= 1000;
    ++unit;
  }
  const bool whole = unit == 0 && value == std::floor(value);
  return fmt::format("{}{}", whole ? fmt::format("{:.0f}", value) : ThreeDigits(value), units[unit]);
}

std::string ExactDecimal(Nanoseconds value, int decimals) {
  const bool negative = value < 0;
  std::uint64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  const std::uint64_t magnitude =
      negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  std::string text = fmt::format("{}{}", negative ? "-" : "", magnitude / scale);
  const std::uint64_t fraction = magnitude % scale;
  if (fraction != 0) {
    std::string digits = fmt::format("{:0{}}", fraction, decimals);
    while (digits.back() == '0') digits.pop_back();
    text += '.' + digits;
  }
  return text;
}

}  // namespace

std::string FormatDuration(double nanoseconds) {
  return Scaled(nanoseconds, std::array{" ns", " µs", " ms", " s"});
}

std::string FormatMilliseconds(double nanoseconds) {
  const double value = nanoseconds / 1e6;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return "0.00 ms";
  if (magnitude < 0.01) return fmt::format("{:.4f} ms", value);
  if (magnitude < 0.1) return fmt::format("{:.3f} ms", value);
  return fmt::format("{} ms", ThreeDigits(value));
}

std::string FormatAmount(double amount) {
  return Scaled(amount, std::array{"", " k", " M", " G", " T", " P", " E"});
}

std::string FormatBytes(double bytes) { return Scaled(bytes, std::array{" B", " kB", " MB", " GB"}); }

std::string ExactMicroseconds(Nanoseconds nanoseconds) { return ExactDecimal(nanoseconds, 3); }
std::string ExactMilliseconds(Nanoseconds nanoseconds) { return ExactDecimal(nanoseconds, 6); }

}  // namespace etprof
