#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace etprof {

using Nanoseconds = std::int64_t;  // durations and points of a monotonic clock
using Bytes = std::int64_t;

// Readers of files refuse points in time beyond the first, events that take longer than the second, and files
// whose events take more than the third together, so that sums and differences of times cannot overflow.
inline constexpr Nanoseconds kMaxTime = std::numeric_limits<Nanoseconds>::max() / 2;  // 146 years
inline constexpr Nanoseconds kMaxEventTime = Nanoseconds{1} << 44;                    // 4.8 hours
inline constexpr Nanoseconds kMaxTotalTime = Nanoseconds{1} << 50;                    // 13 days

// "51 ns", "7.92 µs", "12.3 ms", "31.0 s": three significant digits, the unit chosen so that the number is
// below 1000. Negative durations keep their sign.
std::string FormatDuration(double nanoseconds);

// "7.92 ms": always milliseconds, for columns that must align; at least three significant digits below 1 ms.
std::string FormatMilliseconds(double nanoseconds);

// "12.3 kB" (powers of 1000), three significant digits.
std::string FormatBytes(double bytes);

// "85.1 M": powers of 1000, three significant digits; below 1000 whole numbers have no decimals. For counts
// and rates, whose unit the caller says.
std::string FormatAmount(double amount);

// "1,204": whole, with separators.
std::string FormatCount(std::int64_t count);

// "1 thread", "1,204 runs". `many` is the plural where that is not `one` with an s.
template <std::integral Integer>
std::string CountedText(Integer count, std::string_view one, std::string_view many = {}) {
  const std::string number = FormatCount(static_cast<std::int64_t>(count));
  if (count == 1) {
    return number + ' ' + std::string(one);
  }
  return number + ' ' + (many.empty() ? std::string(one) + 's' : std::string(many));
}

// Shortest decimal text that reads back to exactly the same nanoseconds: 1234567 ns -> "1.234567". No
// exponent, no trailing zeros beyond need.
std::string ExactMilliseconds(Nanoseconds nanoseconds);

// How a number is shown whose unit stands behind it.
// Three significant digits for |value| < 1000, integers above; below 0.1 two decimals, and fewer digits.
std::string ThreeDigits(double value);

// "7.92", "0.051", "0.00002": as ThreeDigits from 0.1 on, and below as many decimals as it takes that what is
// not 0 does not look like it.
std::string FormatNumber(double value);

}  // namespace etprof
