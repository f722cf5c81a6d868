#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "say/wording.h"

namespace etprof::say {

// Numbers as findings say them.

// "1.234 ms"; below 10 µs in its own unit, since 0.0000 ms says nothing.
std::string Ms(double ns);

// The times of one finding, in the unit and with the decimals of an inference, so that they can be compared
// and add up by eye.
class TimesWithin {
 public:
  // Milliseconds, or microseconds where an inference takes less than one.
  explicit TimesWithin(double whole_ns) : whole_(whole_ns), scale_(ScaleFor(whole_ns, whole_ns)) {}
  std::string Text(double ns) const;     // "0.833 ms"; "<0.001 ms" of what rounds to nothing
  std::string Of(double part_ns) const;  // "0.833 of 1.526 ms (55%)"
  // The same of parts[i], with the digits that it has in a table whose rows, the parts, add up as printed.
  std::string Of(const std::vector<double>& parts, std::size_t i) const;
  // Whether a table of this scale has the same unit and decimals.
  bool HasScale(const TimeScale& scale) const;

 private:
  std::string Number(double ns) const;
  double whole_;
  TimeScale scale_;
};

}  // namespace etprof::say
