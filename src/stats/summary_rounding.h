#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace etprof::stats {

// Rounds the rows of a table so that the printed rows add up to the printed total: the largest remainder
// method (Hamilton's). `values` are in units of the last printed digit (ns / 10'000 for two decimals of a
// millisecond) and may be negative. The results are whole units, each less than 1 away from its value. They
// add up to the sum of the values rounded to nearest (a half up), which is the total to print. A whole value
// is unchanged. Of equal remainders the earlier row is rounded up. Throws std::invalid_argument for a value
// that is not finite or beyond ±2^53.
std::vector<std::int64_t> LargestRemainder(std::span<const double> values);

}  // namespace etprof::stats
