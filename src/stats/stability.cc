#include "stats/stability.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "core/views.h"
#include "stats/compensated_sum.h"
#include "stats/distribution.h"

namespace etprof::stats {
namespace {

constexpr std::size_t kStretches = 20;
constexpr std::size_t kMinTrendValues = 8;
constexpr std::size_t kMinLevelsValues = 20;
constexpr double kMinLevelsSeparation = 5;
constexpr double kMinShare = 0.1;
constexpr double kMinRelativeGap = 0.03;
constexpr std::size_t kMinStepValues = 20;
constexpr std::size_t kMinPartValues = 5;
constexpr std::size_t kMinPartDivisor = 20;  // the smaller part of a step has at least 1/20 of the values
constexpr double kMinStepSeparation = 4;
constexpr double kMaxMisplacedShare = 0.1;  // share of a level's values that may be nearer to the other level

// The medians of `kStretches` stretches of about equal length.
std::vector<double> StretchMedians(std::span<const double> series) {
  std::vector<double> medians;
  for (std::size_t i = 0; i < kStretches; ++i) {
    const std::size_t first = i * series.size() / kStretches;
    const std::size_t end = (i + 1) * series.size() / kStretches;
    medians.push_back(*Median(series.subspan(first, end - first)));
  }
  return medians;
}

// The standard deviation of all values, not an estimate for a larger population.
double PopulationSd(std::span<const double> values, double mean) {
  return std::sqrt(SquaredDeviations(values, mean) / static_cast<double>(values.size()));
}

// Replaces each value by the median of itself and its two neighbors.
std::vector<double> RunningMedians(std::span<const double> series) {
  std::vector<double> medians(series.begin(), series.end());
  for (std::size_t i = 1; i + 1 < series.size(); ++i) {
    const auto [low, high] = std::minmax(series[i - 1], series[i + 1]);
    medians[i] = std::clamp(series[i], low, high);
  }
  return medians;
}

// The split into two parts of at least `min_size` values with the most variance between them; 0: there are
// too few values.
std::size_t BestSplit(std::span<const double> values, std::size_t min_size) {
  const auto n = static_cast<double>(values.size());
  double total = 0;
  for (const double value : values) total += value - values.front();
  double before = 0, best = -1;
  std::size_t split = 0;
  for (std::size_t i = 1; i + min_size <= values.size(); ++i) {
    before += values[i - 1] - values.front();
    if (i < min_size) continue;
    const auto count = static_cast<double>(i);
    const double difference = (total - before) / (n - count) - before / count;
    const double between = count * (n - count) * difference * difference;
    if (between > best) {
      best = between;
      split = i;
    }
  }
  return split;
}

double RobustSd(std::span<const double> values, double median) {
  return kNormalSdPerMad * *Median(MapEach(values, [&](double value) { return std::fabs(value - median); }));
}

// Ashman's D of two levels; infinite if both have no spread.
double AshmansD(double low, double high, double sd_low, double sd_high) {
  const double within = std::hypot(sd_low, sd_high);
  return within > 0 ? std::sqrt(2.0) * (high - low) / within : std::numeric_limits<double>::infinity();
}

// The limits of FirstSteadyRun.
constexpr double kMinHalfShift = 1.0;    // half of the smallest shift that is detected, in sd
constexpr double kMaxExcess = 4.0;       // limit for the distance of a single run, in sd
constexpr double kMinEvidence = 2.5;     // evidence that a series without warm-up rarely has
constexpr double kRelativeFloor = 1e-3;  // share of the level; a smaller distance is never a shift

struct ChangePoint {
  std::size_t index = 0;
  double evidence = 0;
};

// The maximum of the cumulative sum of the opening runs' distances from the level, above it (`sign` 1) or
// below it (`sign` -1).
ChangePoint FindShift(std::span<const double> opening, double level, double sd, double sign) {
  ChangePoint best;
  double sum = 0;
  for (std::size_t i = 0; i < opening.size(); ++i) {
    sum += std::clamp(sign * (opening[i] - level) / sd, -kMaxExcess, kMaxExcess) - kMinHalfShift;
    if (sum > best.evidence) best = {i + 1, sum};
  }
  return best.evidence >= kMinEvidence ? best : ChangePoint{};
}

}  // namespace

double TheilSlope(std::span<const double> series) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < series.size(); ++i) {
    for (std::size_t j = i + 1; j < series.size(); ++j)
      slopes.push_back((series[j] - series[i]) / static_cast<double>(j - i));
  }
  return Median(slopes).value_or(0);
}

double KendallP(std::span<const double> series) {
  double kendall_s = 0;  // Kendall's S: concordant minus discordant pairs
  for (std::size_t i = 0; i < series.size(); ++i) {
    for (std::size_t j = i + 1; j < series.size(); ++j)
      kendall_s += series[j] > series[i] ? 1 : series[j] < series[i] ? -1 : 0;
  }
  // Kendall, "Rank Correlation Methods", 1970: the variance of `kendall_s` with ties in one of the two
  // variables.
  const auto n = static_cast<double>(series.size());
  double variance = n * (n - 1) * (2 * n + 5);
  std::map<double, double> ties;
  for (const double value : series) ++ties[value];
  for (const auto& [value, t] : ties) variance -= t * (t - 1) * (2 * t + 5);
  variance /= 18;
  if (variance <= 0) return 1;
  return boost::math::erfc(std::fabs(kendall_s) / std::sqrt(2 * variance));
}

std::optional<Trend> FindTrend(std::span<const double> series) {
  if (series.size() < kMinTrendValues) return std::nullopt;
  const std::vector<double> stretches = series.size() > 2 * kStretches
                                            ? StretchMedians(series)
                                            : std::vector<double>(series.begin(), series.end());
  const double median = *Median(stretches);
  const auto [smallest, largest] = std::minmax_element(stretches.begin(), stretches.end());
  if (median <= 0 || *smallest == *largest) return std::nullopt;
  return Trend{TheilSlope(stretches) * static_cast<double>(stretches.size() - 1) / median,
               KendallP(stretches)};
}

std::optional<Step> FindStep(std::span<const double> series) {
  if (series.size() < kMinStepValues) return std::nullopt;
  const std::vector<double> smooth = RunningMedians(series);
  const std::size_t min_size = std::max(kMinPartValues, series.size() / kMinPartDivisor);
  Step step;
  step.index = BestSplit(smooth, min_size);
  if (step.index == 0) return std::nullopt;
  const std::span<const double> early = series.first(step.index), late = series.subspan(step.index);
  step.before = *Median(early);
  step.after = *Median(late);
  const double low = std::min(step.before, step.after), high = std::max(step.before, step.after);
  const double separation = AshmansD(low, high, RobustSd(early, step.before), RobustSd(late, step.after));
  if (low <= 0 || high < (1 + kMinRelativeGap) * low || separation < kMinStepSeparation) return std::nullopt;
  const double middle = low + (high - low) / 2;
  const auto misplaced_share = [&](std::span<const double> values, double level) {
    const auto count = std::ranges::count_if(
        values, [&](double value) { return level == low ? value > middle : value < middle; });
    return static_cast<double>(count) / static_cast<double>(values.size());
  };
  if (misplaced_share(early, step.before) > kMaxMisplacedShare ||
      misplaced_share(late, step.after) > kMaxMisplacedShare)
    return std::nullopt;
  return step;
}

std::optional<TwoLevels> FindTwoLevels(std::span<const double> values) {
  if (values.size() < kMinLevelsValues) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  Sort(sorted);
  const std::size_t split = BestSplit(sorted, 1);
  const std::span<const double> low(sorted.data(), split);
  const std::span<const double> high(sorted.data() + split, sorted.size() - split);
  const double mean_low = CompensatedMean(low), mean_high = CompensatedMean(high);
  TwoLevels levels;
  levels.low = *Median(low);
  levels.high = *Median(high);
  levels.share_high = static_cast<double>(high.size()) / static_cast<double>(sorted.size());
  const double separation =
      AshmansD(mean_low, mean_high, PopulationSd(low, mean_low), PopulationSd(high, mean_high));
  const bool has_two_levels = separation >= kMinLevelsSeparation && levels.share_high >= kMinShare &&
                              levels.share_high <= 1 - kMinShare && levels.low > 0 &&
                              levels.high >= (1 + kMinRelativeGap) * levels.low;
  if (!has_two_levels) return std::nullopt;
  return levels;
}

std::size_t FirstSteadyRun(std::span<const double> runs) {
  if (runs.size() < 4) return 0;
  const std::span<const double> opening = runs.first(runs.size() / 2);
  const std::span<const double> settled = runs.subspan(runs.size() / 2);

  const double level = *Median(settled);
  std::vector<double> steps;
  for (std::size_t i = 1; i < runs.size(); ++i) steps.push_back(std::fabs(runs[i] - runs[i - 1]));
  const double sd = std::max({RobustSd(settled, level), kNormalSdPerMad * *Median(steps) / std::sqrt(2.0),
                              kRelativeFloor * std::fabs(level)});
  if (sd == 0) return 0;

  const ChangePoint above = FindShift(opening, level, sd, 1);
  const ChangePoint below = FindShift(opening, level, sd, -1);
  if (above.evidence >= below.evidence) return above.index;
  // The runs after the opening are slower, so the opening is the steady state. Search it for a warm-up.
  return FirstSteadyRun(runs.first(below.index));
}

}  // namespace etprof::stats
