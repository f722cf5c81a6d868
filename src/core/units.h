#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace etprof {

using Nanoseconds = std::int64_t;  // durations and points of a monotonic clock
using Bytes = std::int64_t;

// File readers refuse times beyond kMaxTime, events longer than kMaxEventTime, and files whose events last
// longer than kMaxTotalTime in total, so that sums and differences of times cannot overflow.
inline constexpr Nanoseconds kMaxTime = std::numeric_limits<Nanoseconds>::max() / 2;  // 146 years
inline constexpr Nanoseconds kMaxEventTime = Nanoseconds{1} << 44;                    // 4.8 hours
inline constexpr Nanoseconds kMaxTotalTime = Nanoseconds{1} << 50;                    // 13 days

// part / whole: a mean over runs, or a share; absent if `whole` is 0.
inline std::optional<double> QuotientIfDefined(Nanoseconds part, std::int64_t whole) {
  return whole > 0 ? std::optional(static_cast<double>(part) / static_cast<double>(whole)) : std::nullopt;
}

// "51 ns", "7.92 µs", "12.3 ms", "31.0 s": three significant digits, in a unit in which the number is below
// 1000. Negative durations keep their sign.
std::string FormatDuration(double nanoseconds);

// "7.92 ms": always milliseconds, for aligned columns; at least three significant digits below 1 ms.
std::string FormatMilliseconds(double nanoseconds);

// "12.3 kB" (powers of 1000), three significant digits.
std::string FormatBytes(double bytes);

// "85.1 M": powers of 1000, three significant digits; integers below 1000 have no decimals. For counts and
// rates; the caller adds the unit.
std::string FormatAmount(double amount);

// "1,204": an integer with thousands separators.
std::string FormatCount(std::int64_t count);

// "1 thread", "1,204 runs". `plural` is needed if the plural is not `singular` with an s.
template <std::integral Integer>
std::string CountedText(Integer count, std::string_view singular, std::string_view plural = {}) {
  const std::string number = FormatCount(static_cast<std::int64_t>(count));
  if (count == 1) {
    return number + ' ' + std::string(singular);
  }
  return number + ' ' + (plural.empty() ? std::string(singular) + 's' : std::string(plural));
}

// The shortest decimal text that reads back as exactly the same number of nanoseconds: 1234567 ns ->
// "1.234567". No exponent, no trailing zeros.
std::string ExactMilliseconds(Nanoseconds nanoseconds);

// A number without its unit: three significant digits for |value| < 1000, an integer above; two decimals
// below 0.1, which are fewer than three digits.
std::string FormatThreeDigits(double value);

// "7.92", "0.051", "0.00002": as FormatThreeDigits from 0.1 on; below, with enough decimals that a value
// other than 0 does not look like 0. The sign is the minus sign (U+2212) of all numbers that are shown.
std::string FormatNumber(double value);

// Parses a number and a unit (ns, us, ms, s, min or h): "33ms", "16.7 ms", "10min". Absent for anything else:
// a missing unit (except for 0), a negative number, more than 10,000 hours.
std::optional<Nanoseconds> ParseDuration(std::string_view text);

// Formats a duration in the largest unit in which it is at least 1 and ParseDuration reads back the same
// value: "33ms", "16.7ms", "10min", "0".
std::string FormatExactDuration(Nanoseconds duration);

// Formats an estimated duration coarsely: "45 s", "12 min", "2.5 h".
std::string FormatEstimatedSeconds(double seconds);

}  // namespace etprof
