#include "stats/distribution.h"

#include <algorithm>
#include <array>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "stats/compensated_sum.h"

namespace etprof::stats {
namespace {

// The number of values that a trimmed mean drops at each end.
std::size_t TrimCount(std::size_t n, double share) {
  return static_cast<std::size_t>(share * static_cast<double>(n));
}

// Trimmed means of the values, the widest trim first: a single pass computes all of them, from the middle
// outwards.
class TrimmedMeans {
 public:
  // `are_integers`: all values are integers below 2^32, whose sums are exact without compensation.
  TrimmedMeans(std::span<const double> sorted, bool are_integers)
      : sorted_(sorted),
        are_integers_(are_integers),
        origin_(sorted[sorted.size() / 2]),
        low_(sorted.size() / 2),
        high_(low_) {}

  // The mean without `cut` values at each end. `cut` must not exceed the `cut` of the previous call.
  double MeanWithout(std::size_t cut) {
    Add(sorted_.subspan(cut, low_ - cut));
    Add(sorted_.subspan(high_, sorted_.size() - cut - high_));
    low_ = cut;
    high_ = sorted_.size() - cut;
    const double sum = are_integers_ ? static_cast<double>(integer_sum_) : sum_.Value();
    return origin_ + sum / static_cast<double>(high_ - low_);
  }

 private:
  void Add(std::span<const double> values) {
    if (are_integers_) {
      for (const double value : values) integer_sum_ += static_cast<std::int64_t>(value - origin_);
    } else {
      for (const double value : values) sum_.Add(value - origin_);
    }
  }

  std::span<const double> sorted_;
  bool are_integers_;
  double origin_;
  std::size_t low_, high_;  // the range of values that is summed so far
  CompensatedSum sum_;
  std::int64_t integer_sum_ = 0;
};

// Sorts integers below 2^32, such as nanoseconds, by counting: three digits of 11 bits, the lowest first
// (least-significant-digit radix sort). Returns false and changes nothing for other values and for few
// values.
bool RadixSort(std::vector<double>& values) {
  constexpr std::size_t kMinValues = 1000;
  constexpr std::uint32_t kBits = 11, kDigits = 1U << kBits, kPasses = 3;
  const auto digit = [](std::uint32_t key, std::uint32_t pass) { return (key >> (pass * kBits)) % kDigits; };
  if (values.size() < kMinValues || values.size() > std::numeric_limits<std::uint32_t>::max()) return false;
  std::vector<std::uint32_t> keys(values.size()), next(values.size());
  std::array<std::array<std::uint32_t, kDigits>, kPasses> positions{};  // counts per digit, later positions
  bool are_integers = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    const bool fits = value >= 0 && value <= std::numeric_limits<std::uint32_t>::max();
    keys[i] = static_cast<std::uint32_t>(fits ? value : 0);
    are_integers &= fits && static_cast<double>(keys[i]) == value;
    for (std::uint32_t pass = 0; pass < kPasses; ++pass) ++positions[pass][digit(keys[i], pass)];
  }
  if (!are_integers) return false;
  for (std::uint32_t pass = 0; pass < kPasses; ++pass) {
    auto& position = positions[pass];
    if (position[digit(keys[0], pass)] == values.size()) continue;  // all values have the same digit
    std::exclusive_scan(position.begin(), position.end(), position.begin(), 0U);
    for (const std::uint32_t key : keys) next[position[digit(key, pass)]++] = key;
    keys.swap(next);
  }
  std::ranges::copy(keys, values.begin());
  return true;
}

// The `rank`-th smallest |x - center| (from 0) of sorted values; `split` of them are below the center.
double RankedDeviation(std::span<const double> sorted, double center, std::size_t split, std::size_t rank) {
  // The deviations of the values below and above the center, both ascending.
  const auto below = [&](std::size_t i) { return center - sorted[split - 1 - i]; };
  const auto above = [&](std::size_t i) { return sorted[split + i] - center; };
  // The number of the rank + 1 smallest deviations that lie above the center, by binary search.
  const std::size_t count = rank + 1;
  std::size_t low = count - std::min(count, split), high = std::min(count, sorted.size() - split);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (above(middle) < below(rank - middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::max(low > 0 ? above(low - 1) : 0, low < count ? below(rank - low) : 0);
}

// The median of |x - center| for sorted values with the median `center`.
double MedianDeviation(std::span<const double> sorted, double center) {
  const std::size_t n = sorted.size();
  const auto split =
      static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), center) - sorted.begin());
  const double upper = RankedDeviation(sorted, center, split, n / 2);
  if (n % 2 == 1) return upper;
  const double lower = RankedDeviation(sorted, center, split, n / 2 - 1);
  return lower + (upper - lower) / 2;
}

}  // namespace

Distribution Summarize(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  const bool are_integers = Sort(values);
  return SummarizeSorted(values, are_integers);
}

Distribution SummarizeSorted(std::span<const double> sorted, bool are_integers) {
  Distribution result;
  result.n = static_cast<std::int64_t>(sorted.size());
  if (sorted.empty()) return result;

  TrimmedMeans means(sorted, are_integers);
  result.trimmed_mean_10 = means.MeanWithout(TrimCount(sorted.size(), 0.10));
  result.trimmed_mean_5 = means.MeanWithout(TrimCount(sorted.size(), 0.05));
  const double mean = means.MeanWithout(0);
  result.mean = mean;
  if (sorted.size() > 1) {
    result.sd = std::sqrt(SquaredDeviations(sorted, mean) / static_cast<double>(sorted.size() - 1));
    if (mean != 0) result.cv = *result.sd / std::fabs(mean);
  }
  result.min = sorted.front();
  result.max = sorted.back();
  result.p50 = Quantile(sorted, 0.5);
  result.p90 = Quantile(sorted, 0.9);
  result.p95 = Quantile(sorted, 0.95);
  result.p99 = Quantile(sorted, 0.99);
  const Fences fences = TukeyFencesSorted(sorted);
  const auto low = std::lower_bound(sorted.begin(), sorted.end(), fences.low);
  const auto high = std::upper_bound(low, sorted.end(), fences.high);
  result.outliers = (low - sorted.begin()) + (sorted.end() - high);
  result.mad = MedianDeviation(sorted, *result.p50);
  return result;
}

bool Sort(std::vector<double>& values) {
  const bool are_integers = RadixSort(values);
  if (!are_integers) boost::sort::pdqsort_branchless(values.begin(), values.end());
  return are_integers;
}

double Quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) throw std::invalid_argument("no values have no quantile");
  if (!(q >= 0 && q <= 1)) throw std::invalid_argument("a quantile's q lies in [0, 1]");
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 == sorted.size()) return sorted.back();
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

std::optional<double> Median(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  if (copy.size() % 2 == 1) return *middle;
  const double below = *std::max_element(copy.begin(), middle);
  return below + (*middle - below) / 2;
}

Fences TukeyFences(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  Sort(sorted);
  return TukeyFencesSorted(sorted);
}

Fences TukeyFencesSorted(std::span<const double> sorted) {
  if (sorted.size() < 4) {
    return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
  const double first_quartile = Quantile(sorted, 0.25);
  const double third_quartile = Quantile(sorted, 0.75);
  const double fence_distance = 1.5 * (third_quartile - first_quartile);
  return {first_quartile - fence_distance, third_quartile + fence_distance};
}

}  // namespace etprof::stats
