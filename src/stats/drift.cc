#include "stats/drift.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace etprof::stats {
namespace {

constexpr std::size_t kMinSideValues = 2;  // values on either side of a shift
constexpr int kAutocorrelations = 11;      // 0, 0.1, ... 1
constexpr std::size_t kSimulations = 2000;
constexpr std::size_t kTailSimulations = 20;  // the largest statistics, from which the tail is extrapolated
constexpr double kRounding = 1e-12;           // a smaller sum of squares is rounding error

using Series = std::vector<double>;

double Dot(const Series& a, const Series& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Computes the test statistic for series of `count` values.
class ShiftTest {
 public:
  explicit ShiftTest(std::size_t count) : count_(count - 1) {
    for (int i = 0; i < kAutocorrelations; ++i) {
      Series squares(count_ + 1);
      for (std::size_t at = kMinSideValues; at + kMinSideValues <= count_ + 1; ++at) {
        Series shift(count_);
        for (std::size_t t = at - 1; t < count_; ++t) shift[t] = t == at - 1 ? 1 : 1 - Autocorrelation(i);
        Center(shift);
        squares[at] = Dot(shift, shift);
      }
      shift_squares_.push_back(std::move(squares));
    }
  }

  // N ln(residual squares without a shift / with the best shift). Each hypothesis uses the autocorrelation
  // with which it fits best.
  double Statistic(std::span<const double> values) const {
    double squares_without_shift = std::numeric_limits<double>::infinity(),
           squares_with_shift = squares_without_shift;
    Series innovations(count_), after(count_ + 1);
    for (int i = 0; i < kAutocorrelations; ++i) {
      const double autocorrelation = Autocorrelation(i);
      for (std::size_t t = 0; t < count_; ++t) innovations[t] = values[t + 1] - autocorrelation * values[t];
      Center(innovations);
      const double squares = Dot(innovations, innovations);
      squares_without_shift = std::min(squares_without_shift, squares);
      for (std::size_t t = count_; t-- > 0;) after[t] = after[t + 1] + innovations[t];
      for (std::size_t at = kMinSideValues; at + kMinSideValues <= count_ + 1; ++at) {
        const double shift_squares = shift_squares_[static_cast<std::size_t>(i)][at];
        if (shift_squares < kRounding) continue;
        const double shift_product = innovations[at - 1] + (1 - autocorrelation) * after[at];
        squares_with_shift =
            std::min(squares_with_shift, squares - shift_product * shift_product / shift_squares);
      }
    }
    if (!(squares_without_shift > 0)) return 0;
    return static_cast<double>(count_) *
           -std::log(std::max(squares_with_shift / squares_without_shift, kRounding));
  }

 private:
  static double Autocorrelation(int i) { return static_cast<double>(i) / (kAutocorrelations - 1); }

  static void Center(Series& values) {
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    for (double& value : values) value -= mean;
  }

  std::size_t count_;                  // number of innovations
  std::vector<Series> shift_squares_;  // indexed by autocorrelation and place
};

// The bias-corrected lag-1 autocorrelation, limited to [0, 1].
double EstimateAutocorrelation(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const std::span<const double> before = values.first(values.size() - 1), after = values.subspan(1);
  const auto mean = [&](std::span<const double> part) {
    return std::accumulate(part.begin(), part.end(), 0.0) / (count - 1);
  };
  const double mean_before = mean(before), mean_after = mean(after);
  double products = 0, squares = 0;
  for (std::size_t t = 0; t < before.size(); ++t) {
    products += (before[t] - mean_before) * (after[t] - mean_after);
    squares += (before[t] - mean_before) * (before[t] - mean_before);
  }
  if (!(squares > 0)) return 1;
  return std::clamp((count * products / squares + 1) / (count - 3), 0.0, 1.0);
}

Series Simulate(std::size_t count, double autocorrelation, Random& random) {
  Series values(count);
  // The first value has the stationary distribution. A random walk has no stationary distribution, so its
  // first value has a standard deviation of 10.
  double value = random.Normal() / std::sqrt(std::max(1 - autocorrelation * autocorrelation, 0.01));
  for (double& next : values) {
    next = value;
    value = autocorrelation * value + random.Normal();
  }
  return values;
}

}  // namespace

double DriftPValue(std::span<const double> values, Random& random) {
  if (values.size() < kMinDriftValues) return 1;
  if (std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end()) return 1;
  const ShiftTest test(values.size());
  const double statistic = test.Statistic(values);
  const double autocorrelation = EstimateAutocorrelation(values);
  Series simulated(kSimulations);
  for (double& value : simulated) value = test.Statistic(Simulate(values.size(), autocorrelation, random));
  std::ranges::sort(simulated, std::greater<>());
  const double tail = simulated[kTailSimulations - 1];
  const auto exceedances =
      std::ranges::lower_bound(simulated, statistic, std::greater_equal<>()) - simulated.begin();
  if (statistic <= tail) return (1.0 + static_cast<double>(exceedances)) / (1.0 + kSimulations);
  // For a shift at one place, the probability that the ratio of the residual squares is smaller than r falls
  // as r^(degrees of freedom / 2), like that of Student's t.
  const auto count = static_cast<double>(values.size() - 1);
  const double degrees_of_freedom = std::max(1.0, count - 3);
  return static_cast<double>(kTailSimulations) / kSimulations *
         std::exp(-(statistic - tail) * degrees_of_freedom / count / 2);
}

}  // namespace etprof::stats
