#include "say/finding_numbers.h"

#include <fmt/format.h>

#include <cmath>

#include "core/units.h"
#include "say/wording.h"

namespace etprof::say {

std::string Ms(double ns) { return std::fabs(ns) < 10'000 ? FormatDuration(ns) : FormatMilliseconds(ns); }

TimesWithin::TimesWithin(double whole_ns) : whole_(whole_ns) {
  if (whole_ < 1e6) {
    unit_ns_ = 1e3;
    unit_ = "µs";
  }
  const double units = whole_ / unit_ns_;
  decimals_ = units < 10 ? 3 : units < 100 ? 2 : units < 10'000 ? 1 : 0;
}

std::string TimesWithin::Number(double ns) const {
  const double units = ns / unit_ns_;
  const double smallest = std::pow(10, -decimals_);
  if (units > 0 && units < smallest / 2) return fmt::format("<{:.{}f}", smallest, decimals_);
  return fmt::format("{:.{}f}", units, decimals_);
}

std::string TimesWithin::Text(double ns) const { return fmt::format("{} {}", Number(ns), unit_); }

std::string TimesWithin::Of(double part_ns) const {
  return fmt::format("{} of {} ({})", Number(part_ns), Text(whole_), PercentText(part_ns / whole_));
}

}  // namespace etprof::say
