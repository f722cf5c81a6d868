#include "say/findings/finding_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/units.h"
#include "say/wording.h"

namespace etprof::say {

std::string Ms(double ns) { return std::fabs(ns) < 10'000 ? FormatDuration(ns) : FormatMilliseconds(ns); }

std::string TimesWithin::Number(double ns) const {
  const double units = ns / scale_.unit_ns;
  const double smallest = std::pow(10, -scale_.decimals);
  if (units > 0 && units < smallest / 2) return fmt::format("<{:.{}f}", smallest, scale_.decimals);
  return fmt::format("{:.{}f}", units, scale_.decimals);
}

std::string TimesWithin::Text(double ns) const { return fmt::format("{} {}", Number(ns), scale_.unit); }

std::string TimesWithin::Of(double part_ns) const {
  return fmt::format("{} of {} ({})", Number(part_ns), Text(whole_), PercentText(part_ns / whole_));
}

std::string TimesWithin::Of(const std::vector<double>& parts, std::size_t i) const {
  // Of equal remainders the larger part's is rounded up, as in a table by falling time.
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t part) { return parts[part]; });
  std::vector<double> falling;
  for (const std::size_t part : order) falling.push_back(parts[part]);
  const auto place = static_cast<std::size_t>(std::ranges::find(order, i) - order.begin());
  return fmt::format("{} of {} ({})", scale_.OfUnits(AddingUpUnits({falling}, scale_)[place], parts[i]),
                     Text(whole_), PercentText(parts[i] / whole_));
}

bool TimesWithin::HasScale(const TimeScale& scale) const {
  return scale.unit_ns == scale_.unit_ns && scale.decimals == scale_.decimals;
}

}  // namespace etprof::say
