#include "core/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "core/text/text.h"

namespace etprof {
namespace {

std::string FormatScaled(double value, std::initializer_list<const char*> units) {
  const auto* unit = units.begin();
  double scaled = std::fabs(value);
  for (; unit + 1 != units.end() && scaled >= 999.5; ++unit) scaled /= 1000;
  const bool is_integer = unit == units.begin() && scaled == std::floor(scaled);
  return fmt::format("{}{}{}", value < 0 ? "−" : "",
                     is_integer ? fmt::format("{:.0f}", scaled) : FormatThreeDigits(scaled), *unit);
}

struct Unit {
  std::string_view name;
  Nanoseconds length;
};
constexpr std::array<Unit, 6> kUnits = {{{"h", 3'600'000'000'000},
                                         {"min", 60'000'000'000},
                                         {"s", 1'000'000'000},
                                         {"ms", 1'000'000},
                                         {"us", 1'000},
                                         {"ns", 1}}};
constexpr double kMaxNanoseconds = 10'000 * 3.6e12;

}  // namespace

std::string FormatDuration(double nanoseconds) {
  return FormatScaled(nanoseconds, {" ns", " µs", " ms", " s"});
}

std::string FormatMilliseconds(double nanoseconds) { return FormatNumber(nanoseconds / 1e6) + " ms"; }

std::string FormatAmount(double amount) {
  return FormatScaled(amount, {"", " k", " M", " G", " T", " P", " E"});
}

std::string FormatBytes(double bytes) { return FormatScaled(bytes, {" B", " kB", " MB", " GB"}); }

std::string FormatCount(std::int64_t count) {
  if (count > -1000 && count < 1000) return fmt::format("{}", count);
  const std::int64_t last_digits = count % 1000;
  return fmt::format("{},{:03}", FormatCount(count / 1000), last_digits < 0 ? -last_digits : last_digits);
}

std::string ExactMilliseconds(Nanoseconds nanoseconds) {
  constexpr std::uint64_t kScale = 1'000'000;
  const auto value = static_cast<std::uint64_t>(nanoseconds);
  const std::uint64_t magnitude = nanoseconds < 0 ? 0 - value : value;
  std::string text = fmt::format("{}{}", nanoseconds < 0 ? "-" : "", magnitude / kScale);
  if (magnitude % kScale == 0) return text;
  text += fmt::format(".{:06}", magnitude % kScale);
  while (text.back() == '0') text.pop_back();
  return text;
}

std::string FormatThreeDigits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::string FormatNumber(double value) {
  constexpr int kMaxDecimals = 12;  // smaller values are rounding errors of differences
  const double magnitude = std::fabs(value);
  const char* const sign = value < 0 ? "−" : "";
  if (magnitude >= 0.1) return sign + FormatThreeDigits(magnitude);
  int decimals = magnitude < 0.01 ? 4 : 3;
  double scaled = magnitude * 1e4;  // magnitude in units of the last digit
  for (; decimals < kMaxDecimals && scaled < 0.5; ++decimals) scaled *= 10;
  if (scaled < 0.5) return "0.00";
  return fmt::format("{}{:.{}f}", sign, magnitude, decimals);
}

std::optional<Nanoseconds> ParseDuration(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  const auto parsed = ConsumeNumber<double>(text, std::chars_format::fixed);
  if (!parsed || !std::isfinite(*parsed) || is_negative) return std::nullopt;
  const double number = *parsed;
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (text.empty() && number == 0) return 0;
  for (const Unit& unit : kUnits) {
    if (text != unit.name) continue;
    const double duration = number * static_cast<double>(unit.length);
    if (duration > kMaxNanoseconds) return std::nullopt;
    return static_cast<Nanoseconds>(std::llround(duration));
  }
  return std::nullopt;
}

std::string FormatExactDuration(Nanoseconds duration) {
  for (const Unit& unit : kUnits) {
    if (duration < unit.length) continue;
    const std::string text =
        fmt::format("{}{}", static_cast<double>(duration) / static_cast<double>(unit.length), unit.name);
    if (ParseDuration(text) == duration) return text;
  }
  return "0";
}

std::string FormatEstimatedSeconds(double seconds) {
  if (seconds < 100) return fmt::format("{:.3g} s", seconds);
  if (seconds < 6000) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} h", seconds / 3600);
}

}  // namespace etprof
