#include "core/clock.h"

#include <array>
#include <ctime>

namespace etprof {
namespace {

std::string FormatTime(std::time_t time, const char* format) {
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), format, &utc);
  return text.data();
}

}  // namespace

std::string UtcNow() { return FormatUtc(std::time(nullptr)); }
std::string UtcNowForFileName() { return FormatTime(std::time(nullptr), "%Y-%m-%dT%H%M%SZ"); }

std::optional<std::int64_t> ParseUtc(std::string_view text) {
  std::tm utc{};
  int length = 0;
  const std::string copy(text);
  // NOLINTNEXTLINE(cert-err34-c): the comparison at the end rejects other texts
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
                  &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &length) != 6)
    return std::nullopt;
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  const std::int64_t seconds = ::timegm(&utc);
  return FormatUtc(seconds) == text ? std::optional(seconds) : std::nullopt;
}

std::string FormatUtc(std::int64_t seconds) { return FormatTime(seconds, "%Y-%m-%dT%H:%M:%SZ"); }

}  // namespace etprof
