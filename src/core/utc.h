#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etprof {

// This moment in UTC, ISO 8601: "2026-11-22T17:06:05Z".
std::string UtcNow();
// Likewise without what some file systems refuse in a name: "2026-11-22T170605Z".
std::string UtcNowForFileName();

// Seconds since 1970 of UtcNow()'s text, and back. Absent: it is no such text.
std::optional<std::int64_t> UnixOfUtc(std::string_view text);
std::string UtcOfUnix(std::int64_t seconds);

}  // namespace etprof
