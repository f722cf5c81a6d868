#include "stats/summary_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>

#include "stats/compensated_sum.h"

namespace etprof::stats {

std::vector<std::int64_t> LargestRemainder(std::span<const double> values) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  std::vector<std::int64_t> rounded;
  std::vector<double> remainders;
  CompensatedSum left_over;
  for (const double value : values) {
    if (!(std::fabs(value) <= kExactIntegers))
      throw std::invalid_argument("a row to be rounded is finite, at most 2^53");
    const double below = std::floor(value);
    rounded.push_back(static_cast<std::int64_t>(below));
    remainders.push_back(value - below);
    left_over.Add(value - below);
  }
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  // There are at most as many units as rows with a remainder, since each remainder is below 1.
  const auto units = static_cast<std::size_t>(std::floor(left_over.Value() + 0.5));
  for (std::size_t i = 0; i < units; ++i) ++rounded[order[i]];
  return rounded;
}

}  // namespace etprof::stats
