#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etprof {

// Seconds of a monotonic clock. Only differences between two readings are meaningful.
inline double MonotonicSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The current time in UTC, ISO 8601: "2026-11-22T17:06:05Z".
std::string UtcNow();
// The current time without colons, which some file systems refuse in names: "2026-11-22T170605Z".
std::string UtcNowForFileName();

// Converts between seconds since 1970 and the text of UtcNow(). Absent if the text has another form.
std::optional<std::int64_t> ParseUtc(std::string_view text);
std::string FormatUtc(std::int64_t seconds);

}  // namespace etprof
