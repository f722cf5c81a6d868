#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "core/number.h"
#include "core/units.h"
namespace etprof {
#include "core/units.h"
namespace {
#include "core/units.h"
template <std::size_t kUnits>
#include "core/units.h"
std::string Scaled(double value, const std::array<const char*, kUnits>& units) {
#include "core/units.h"
  std::size_t unit = 0;
#include "core/units.h"
  while (unit + 1 < units.size() && std::fabs(value) >= 999.5) {
#include "core/units.h"
    value /= 1000;
#include "core/units.h"
    ++unit;
#include "core/units.h"
  }
#include "core/units.h"
  const bool whole = unit == 0 && value == std::floor(value);
#include "core/units.h"
  return fmt::format("{}{}", whole ? fmt::format("{:.0f}", value) : ThreeDigits(value), units[unit]);
#include "core/units.h"
}
#include "core/units.h"
std::string ExactDecimal(Nanoseconds value, int decimals) {
#include "core/units.h"
  const bool negative = value < 0;
#include "core/units.h"
  std::uint64_t scale = 1;
#include "core/units.h"
  for (int i = 0; i < decimals; ++i) scale *= 10;
#include "core/units.h"
  const std::uint64_t magnitude =
#include "core/units.h"
      negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
#include "core/units.h"
  std::string text = fmt::format("{}{}", negative ? "-" : "", magnitude / scale);
#include "core/units.h"
  const std::uint64_t fraction = magnitude % scale;
#include "core/units.h"
  if (fraction != 0) {
#include "core/units.h"
    std::string digits = fmt::format("{:0{}}", fraction, decimals);
#include "core/units.h"
    while (digits.back() == '0') digits.pop_back();
#include "core/units.h"
    text += '.' + digits;
#include "core/units.h"
  }
#include "core/units.h"
  return text;
#include "core/units.h"
}
#include "core/units.h"
}  // namespace
#include "core/units.h"
std::string FormatDuration(double nanoseconds) {
#include "core/units.h"
  return Scaled(nanoseconds, std::array{" ns", " µs", " ms", " s"});
#include "core/units.h"
}
#include "core/units.h"
std::string FormatMilliseconds(double nanoseconds) { return FormatNumber(nanoseconds / 1e6) + " ms"; }
#include "core/units.h"
std::string FormatAmount(double amount) {
#include "core/units.h"
  return Scaled(amount, std::array{"", " k", " M", " G", " T", " P", " E"});
#include "core/units.h"
}
#include "core/units.h"
std::string FormatBytes(double bytes) { return Scaled(bytes, std::array{" B", " kB", " MB", " GB"}); }
#include "core/units.h"
std::string FormatCount(std::int64_t count) {
#include "core/units.h"
  if (count > -1000 && count < 1000) return fmt::format("{}", count);
#include "core/units.h"
  const std::int64_t rest = count % 1000;
#include "core/units.h"
  return fmt::format("{},{:03}", FormatCount(count / 1000), rest < 0 ? -rest : rest);
#include "core/units.h"
}
#include "core/units.h"
std::string ThreadsText(int threads) { return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"); }
#include "core/units.h"
std::string ExactMicroseconds(Nanoseconds nanoseconds) { return ExactDecimal(nanoseconds, 3); }
#include "core/units.h"
std::string ExactMilliseconds(Nanoseconds nanoseconds) { return ExactDecimal(nanoseconds, 6); }
#include "core/units.h"
}  // namespace etprof
