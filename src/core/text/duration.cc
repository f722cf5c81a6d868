#include "core/text/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace etprof {
namespace {

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

std::optional<Nanoseconds> ParseDuration(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0 || text.starts_with('-'))
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
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
