#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace etprof {

// Parses a number and a unit (ns, us, ms, s, min or h): "33ms", "16.7 ms", "10min". Absent for anything else:
// a missing unit (except for 0), a negative number, more than 10,000 hours.
std::optional<Nanoseconds> ParseDuration(std::string_view text);

// Formats a duration in the largest unit in which it is at least 1 and ParseDuration reads back the same
// value: "33ms", "16.7ms", "10min", "0".
std::string FormatExactDuration(Nanoseconds duration);

// Formats an estimated duration for people: "45 s", "12 min", "2.5 h".
std::string FormatEstimatedSeconds(double seconds);

}  // namespace etprof
