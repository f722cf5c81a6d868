#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "core/number.h"

namespace etprof {
namespace {

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

std::string FormatMilliseconds(double nanoseconds) { return FormatNumber(nanoseconds / 1e6) + " ms"; }

std::string FormatAmount(double amount) {
  return Scaled(amount, std::array{"", " k", " M", " G", " T", " P", " E"});
}

std::string FormatBytes(double bytes) { return Scaled(bytes, std::array{" B", " kB", " MB", " GB"}); }

std::string FormatCount(std::int64_t count) {
  if (count > -1000 && count < 1000) return fmt::format("{}", count);
  const std::int64_t rest = count % 1000;
  return fmt::format("{},{:03}", FormatCount(count / 1000), rest < 0 ? -rest : rest);
}

std::string ExactMicroseconds(Nanoseconds nanoseconds) { return ExactDecimal(nanoseconds, 3); }
std::string ExactMilliseconds(Nanoseconds nanoseconds) { return ExactDecimal(nanoseconds, 6); }

}  // namespace etprof
