#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"

namespace etprof {

// A length of time as people write it: a number and a unit of ns, us, ms, s, min or h ("33ms", "16.7 ms",
// "10min"). Absent for anything else: no unit (but for 0, which needs none), below 0, above 10,000 hours.
std::optional<Nanoseconds> ParseDuration(std::string_view text);

// In the largest unit of which it has one at least, so that ParseDuration reads back the same: "33ms",
// "16.7ms", "10min", "0".
std::string DurationText(Nanoseconds duration);

// How long something will take, for people, in the unit that fits: "45 s", "12 min", "2.5 h".
std::string AboutText(double seconds);

}  // namespace etprof
