#include "stats/change_point.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/parallel.h"
#include "core/random.h"
#include "stats/compensated_sum.h"
#include "stats/distribution.h"
#include "stats/drift.h"
#include "stats/ratio/multiple.h"
#include "stats/ratio/student_t.h"

namespace etprof::stats {
namespace {

constexpr std::size_t kMinSegmentRuns = 2;     // runs on either side of a split
constexpr std::size_t kMaxIntervalRuns = 200;  // runs on either side of a change, for its interval
constexpr int kIntervalPermutations = 399;
// A place is rejected at this share of the interval's level. A test at the full level would cover 93% instead
// of 95%, because the step and the residuals are those of the best place (bench/statistics/change_point).
constexpr double kPlaceLevelFactor = 0.6;
// A place is rejected if none of this many permutations falls as far short of the best gain. More
// permutations might accept the place, which costs the interval less than 0.05% of its coverage (the integral
// of (1 - p)^100 above the level).
constexpr int kMinPlaceDraws = 100;
// The drift test's level for each split; most drifting series without a change are tested once.
constexpr double kDriftLevel = 0.015;
constexpr int kMinDrawsWithGain = 20;  // permutations with at least the observed gain: p is known within 25%
constexpr double kMaxDraws = 1e6;      // limits the time for series that stay undecided
// A series gets no further permutations while its adjusted p-value is at most this factor of the rate. The
// chance that more permutations would decide otherwise is then less than a hundredth of the rate.
constexpr double kDecidedRateFactor = 0.25;

// Runs [from, to) of the series, and the level at which they are tested.
struct RunRange {
  std::size_t from = 0, to = 0;
  double level = 0;
};

class Finder {
 public:
  Finder(std::span<const RunLaunches> runs, const ChangePointOptions& options)
      : options_(options), random_(options.seed) {
    std::vector<double> variances, sizes;
    for (const RunLaunches& run : runs) {
      const InterquartileMean mean = ComputeInterquartileMean(run.logs);
      values_.push_back({mean.log, 1});
      groups_.push_back(run.group);
      sizes.push_back(static_cast<double>(run.logs.size()));
      if (mean.standard_error)
        variances.push_back(*mean.standard_error * *mean.standard_error * sizes.back());
    }
    SetWeights(variances, sizes);
  }

  ChangePoints Run() {
    ChangePoints change_points;
    if (values_.size() >= kMinSeriesRuns) {
      change_points.p_value = SplitRange({0, values_.size(), options_.level}, options_.p_value);
      std::ranges::sort(changes_, {}, &LevelChange::first_run);
      for (std::size_t i = 0; i < changes_.size(); ++i) {
        const std::size_t from = i == 0 ? 0 : changes_[i - 1].first_run;
        RefineChange(changes_[i], from, i + 1 < changes_.size() ? changes_[i + 1].first_run : values_.size());
      }
    }
    SetSpread(change_points);
    change_points.changes = std::move(changes_);
    change_points.runs = std::move(values_);
    return change_points;
  }

  // The best split of runs [from, to), and the number of permutations with at least its gain.
  struct Split {
    std::size_t from = 0, middle = 0;
    double gain = 0;
    bool exceeds_rounding = false;  // the gain is more than rounding error
    std::vector<RunValue> shuffled;
    int draws = 0, draws_with_gain = 0;  // permutations so far, and those with at least this gain

    double PValue() const { return (1.0 + draws_with_gain) / (1.0 + draws); }
  };
  Split BestSplitIn(std::size_t from, std::size_t to) const {
    Split split;
    split.from = split.middle = from;
    if (to - from < kMinSeriesRuns / 2) return split;
    const std::span<const RunValue> values(values_.data() + from, to - from);
    const std::vector<double> gains = Gains(values, from, kMinSegmentRuns);
    const auto best = std::ranges::max_element(gains);
    split.middle = from + static_cast<std::size_t>(best - gains.begin());
    split.gain = *best;
    split.exceeds_rounding = !IsRoundingError(split.gain, values);
    split.shuffled.assign(values.begin(), values.end());
    return split;
  }
  Split BestSplitOfSeries() const {
    return values_.size() < kMinSeriesRuns ? Split{} : BestSplitIn(0, values_.size());
  }

  // Returns whether runs [from, to) may only be drifting, without a change of level.
  bool MayBeDrift(std::size_t from, std::size_t to) {
    if (!options_.test_drift) return false;
    std::vector<double> logs;
    for (std::size_t i = from; i < to; ++i) logs.push_back(values_[i].log);
    return DriftPValue(logs, random_) > kDriftLevel;
  }
  bool SeriesMayBeDrift() { return MayBeDrift(0, values_.size()); }

  // Draws permutations until there are `draws` of them, or at least `min_draws` of which
  // `min_draws_with_gain` have a gain as large as the runs (Besag & Clifford, "Sequential Monte Carlo
  // p-Values", Biometrika 78, 1991). Calls `visit` with the gain of each permutation.
  template <typename Visit>
  void Draw(Split& split, int draws, int min_draws_with_gain, int min_draws, Visit&& visit) {
    const WeightedMean mean = ComputeWeightedMean(split.shuffled);
    for (; split.draws < draws && (split.draws_with_gain < min_draws_with_gain || split.draws < min_draws);
         ++split.draws) {
      random_.Shuffle(std::span(split.shuffled));
      const double gain = LargestGain(split.shuffled, mean, split.from);
      split.draws_with_gain += gain >= split.gain * (1 - 1e-9) ? 1 : 0;
      visit(gain);
    }
  }

 private:
  // Sets the weights of the runs. Most neighbors have the same level, so their differences show the spread of
  // the runs (Rice, Annals of Statistics 12, 1984). The launches explain a part of that spread.
  void SetWeights(const std::vector<double>& variances, const std::vector<double>& sizes) {
    if (values_.size() < 3 || variances.empty()) return;
    std::vector<double> steps;
    for (std::size_t i = 1; i < values_.size(); ++i)
      steps.push_back(std::abs(values_[i].log - values_[i - 1].log));
    const double spread = kNormalSdPerMad * *Median(steps) / std::sqrt(2.0);
    const double launch_variance =
        std::accumulate(variances.begin(), variances.end(), 0.0) / static_cast<double>(variances.size());
    double mean_launch_variance = 0;
    for (const double size : sizes)
      mean_launch_variance += launch_variance / size / static_cast<double>(sizes.size());
    launch_variance_ = mean_launch_variance;
    const double between = std::max(0.0, spread * spread - mean_launch_variance);
    double sum = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double variance = between + launch_variance / sizes[i];
      if (!(variance > 0)) return;  // without any spread all weights are equal
      values_[i].weight = 1 / variance;
      sum += values_[i].weight;
    }
    for (RunValue& value : values_) value.weight *= static_cast<double>(values_.size()) / sum;
  }

  bool MaySplit(std::size_t middle) const { return groups_[middle - 1] != groups_[middle]; }

  struct WeightedMean {
    double weights = 0, mean = 0;
  };
  static WeightedMean ComputeWeightedMean(std::span<const RunValue> values) {
    WeightedMean mean;
    double sum = 0;
    for (const RunValue& value : values) {
      mean.weights += value.weight;
      sum += value.weight * value.log;
    }
    mean.mean = sum / mean.weights;
    return mean;
  }

  // Calls visit(k, gain) for each allowed split of `values` before k. The gain is the reduction of the sum of
  // squares. `values` are the runs from `from` on, and `mean` is their weighted mean.
  template <typename Visit>
  void ForEachGain(std::span<const RunValue> values, const WeightedMean& mean, std::size_t from,
                   std::size_t min_segment_runs, Visit&& visit) const {
    double left_weight = 0, deviation_sum = 0;
    for (std::size_t k = 1; k + min_segment_runs <= values.size(); ++k) {
      left_weight += values[k - 1].weight;
      deviation_sum += values[k - 1].weight * (values[k - 1].log - mean.mean);
      if (k >= min_segment_runs && MaySplit(from + k))
        visit(k, deviation_sum * deviation_sum * mean.weights / (left_weight * (mean.weights - left_weight)));
    }
  }
  // The gain of each place; 0 where no split is allowed.
  std::vector<double> Gains(std::span<const RunValue> values, std::size_t from,
                            std::size_t min_segment_runs) const {
    std::vector<double> gains(values.size());
    ForEachGain(values, ComputeWeightedMean(values), from, min_segment_runs,
                [&](std::size_t k, double gain) { gains[k] = gain; });
    return gains;
  }
  double LargestGain(std::span<const RunValue> values, const WeightedMean& mean, std::size_t from) const {
    double largest = 0;
    ForEachGain(values, mean, from, kMinSegmentRuns,
                [&](std::size_t, double gain) { largest = std::max(largest, gain); });
    return largest;
  }

  static double SumOfSquares(std::span<const RunValue> values) {
    const double mean = ComputeWeightedMean(values).mean;
    double squares = 0;
    for (const RunValue& value : values) squares += value.weight * (value.log - mean) * (value.log - mean);
    return squares;
  }

  // Returns whether a gain is only the rounding error of equal values.
  static bool IsRoundingError(double gain, std::span<const RunValue> values) {
    double largest = 0;
    for (const RunValue& value : values) largest = std::max(largest, std::abs(value.log));
    const double rounding = 1e-12 * std::max(1.0, largest);
    return gain <= rounding * rounding * static_cast<double>(values.size());
  }

  // Splits the range recursively. Returns the p-value of its best split.
  double SplitRange(const RunRange& range, std::optional<double> known_p_value = std::nullopt) {
    Split split = BestSplitIn(range.from, range.to);
    std::vector<double> largest_gains;
    if (!known_p_value && split.exceeds_rounding) {
      const int permutations =
          std::max(options_.permutations, static_cast<int>(std::min(kMaxDraws, 20 / range.level)));
      // A split that cannot become significant gets only the permutations that the critical value needs.
      Draw(split, permutations, static_cast<int>(range.level * (1 + permutations)), options_.permutations,
           [&](double gain) { largest_gains.push_back(gain); });
    }
    double p_value = known_p_value.value_or(split.PValue());
    if (!split.exceeds_rounding) return p_value;
    if (!known_p_value && p_value <= range.level && MayBeDrift(range.from, range.to)) p_value = 1;
    if (p_value > range.level) {
      if (range.to == values_.size() && !largest_gains.empty())
        SetCriticalValue(std::move(largest_gains), split);
      return p_value;
    }
    LevelChange change;
    change.first_run = change.earliest = change.latest = split.middle;
    change.p_value = p_value;
    changes_.push_back(change);
    SplitRange({range.from, split.middle, range.level / 2});
    SplitRange({split.middle, range.to, range.level / 2});
    return p_value;
  }

  void SetCriticalValue(std::vector<double> largest_gains, const Split& split) {
    const std::size_t count = split.shuffled.size();
    const auto rank = static_cast<std::ptrdiff_t>(
        std::min(largest_gains.size() - 1,
                 static_cast<std::size_t>((1 - options_.level) * static_cast<double>(largest_gains.size()))));
    std::nth_element(largest_gains.begin(), largest_gains.begin() + rank, largest_gains.end());
    const double gain = largest_gains[static_cast<std::size_t>(rank)];
    const double residual_squares = SumOfSquares(split.shuffled) - gain;
    if (count > 2 && residual_squares > 0)
      critical_t_ = std::sqrt(gain / (residual_squares / static_cast<double>(count - 2)));
  }

  void RefineChange(LevelChange& change, std::size_t from, std::size_t to) {
    if (change.first_run - from > kMaxIntervalRuns) from = change.first_run - kMaxIntervalRuns;
    if (to - change.first_run > kMaxIntervalRuns) to = change.first_run + kMaxIntervalRuns;
    const std::span<const RunValue> values(values_.data() + from, to - from);
    std::vector<double> gains = Gains(values, from, kMinSegmentRuns);
    change.first_run = from + static_cast<std::size_t>(std::ranges::max_element(gains) - gains.begin());
    gains = Gains(values, from, 1);
    const double best = *std::ranges::max_element(gains);
    change.earliest = change.latest = change.first_run;
    change.log_size = change.log_low = change.log_high = StepSize(from, change.first_run, to);
    WidenSize(change, from, change.first_run, to);

    // Simulate a step at each possible place: add it to the permuted residuals of the runs.
    std::vector<RunValue> residuals(values.begin(), values.end());
    const double left = ComputeMean(from, change.first_run), right = ComputeMean(change.first_run, to);
    const auto count = static_cast<double>(values.size());
    const double correction = count > 2 ? std::sqrt(count / (count - 2)) : 1;  // two levels are estimated
    for (std::size_t i = 0; i < residuals.size(); ++i)
      residuals[i].log = correction * (residuals[i].log - (from + i < change.first_run ? left : right));
    const int max_draws_as_short =
        static_cast<int>(kPlaceLevelFactor * (1 - options_.confidence) * (kIntervalPermutations + 1));
    std::vector<RunValue> simulated;
    for (std::size_t k = 1; k < values.size(); ++k) {
      if (!MaySplit(from + k)) continue;
      const double shortfall = best - gains[k];
      int draws_as_short = 0;  // permutations that fall as short; enough accept the place
      for (int i = 0; i < kIntervalPermutations && draws_as_short < max_draws_as_short &&
                      (draws_as_short > 0 || i < kMinPlaceDraws);
           ++i) {
        random_.Shuffle(std::span(residuals));
        simulated = residuals;
        for (std::size_t j = 0; j < simulated.size(); ++j) simulated[j].log += j < k ? left : right;
        double largest = 0, gain_at_place = 0;
        ForEachGain(simulated, ComputeWeightedMean(simulated), from, 1, [&](std::size_t place, double gain) {
          largest = std::max(largest, gain);
          if (place == k) gain_at_place = gain;
        });
        draws_as_short += largest - gain_at_place >= shortfall * (1 - 1e-9) ? 1 : 0;
      }
      if (draws_as_short < max_draws_as_short) continue;
      change.earliest = std::min(change.earliest, from + k);
      change.latest = std::max(change.latest, from + k);
      WidenSize(change, from, from + k, to);
    }
  }

  double ComputeMean(std::size_t from, std::size_t to) const {
    return ComputeWeightedMean(std::span(values_).subspan(from, to - from)).mean;
  }
  double StepSize(std::size_t from, std::size_t middle, std::size_t to) const {
    return ComputeMean(middle, to) - ComputeMean(from, middle);
  }

  void WidenSize(LevelChange& change, std::size_t from, std::size_t middle, std::size_t to) const {
    if (middle - from < kMinSegmentRuns || to - middle < kMinSegmentRuns || to - from < 3) return;
    const std::span<const RunValue> runs(values_.data() + from, to - from);
    const double squares =
        SumOfSquares(runs.first(middle - from)) + SumOfSquares(runs.subspan(middle - from));
    const auto degrees_of_freedom = static_cast<double>(to - from - 2);
    const double error = std::sqrt(squares / degrees_of_freedom *
                                   (1 / ComputeWeightedMean(runs.first(middle - from)).weights +
                                    1 / ComputeWeightedMean(runs.subspan(middle - from)).weights));
    const double half_width = error == 0 ? 0 : CriticalValue(options_.confidence, degrees_of_freedom) * error;
    const double size = StepSize(from, middle, to);
    change.log_low = std::min(change.log_low, size - half_width);
    change.log_high = std::max(change.log_high, size + half_width);
  }

  void SetSpread(ChangePoints& change_points) const {
    double squares = 0;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= changes_.size(); ++i) {
      const std::size_t to = i < changes_.size() ? changes_[i].first_run : values_.size();
      if (to > from) squares += SumOfSquares(std::span(values_).subspan(from, to - from));
      change_points.last_runs = to - from;
      from = to;
    }
    const std::size_t levels = changes_.size() + 1;
    if (values_.size() > levels + 1) {
      const double variance = squares / static_cast<double>(values_.size() - levels);
      change_points.run_sd = std::sqrt(variance);
      if (launch_variance_) change_points.between_sd = std::sqrt(std::max(0.0, variance - *launch_variance_));
    }
    change_points.critical_t = critical_t_;
  }

  const ChangePointOptions& options_;
  Random random_;
  std::vector<RunValue> values_;
  std::vector<std::int64_t> groups_;
  std::vector<LevelChange> changes_;
  std::optional<double> launch_variance_;  // mean part of a run's variance that its launches explain
  std::optional<double> critical_t_;
};

void RequireShares(const ChangePointOptions& options) {
  if (!(options.level > 0 && options.level < 1) || !(options.confidence > 0 && options.confidence < 1))
    throw std::invalid_argument("a level or confidence outside (0, 1)");
}

}  // namespace

InterquartileMean ComputeInterquartileMean(std::span<const double> logs) {
  if (logs.empty()) throw std::invalid_argument("a run without launches");
  std::vector<double> sorted(logs.begin(), logs.end());
  std::ranges::sort(sorted);
  const std::size_t cut = sorted.size() < 4 ? 0 : sorted.size() / 4;
  const std::span<const double> middle(sorted.data() + cut, sorted.size() - 2 * cut);
  const auto middle_count = static_cast<double>(middle.size());
  InterquartileMean mean;
  mean.log = std::accumulate(middle.begin(), middle.end(), 0.0) / middle_count;
  if (sorted.size() < 2) return mean;
  const double low = middle.front(), high = middle.back();
  for (double& log : sorted) log = std::clamp(log, low, high);
  const auto count = static_cast<double>(sorted.size());
  const double squares = SquaredDeviations(sorted, CompensatedMean(sorted));
  mean.standard_error = std::sqrt(squares / (count - 1) / count) / (middle_count / count);
  mean.degrees_of_freedom = middle_count - 1;
  return mean;
}

ChangePoints FindChangePoints(std::span<const RunLaunches> runs, const ChangePointOptions& options) {
  RequireShares(options);
  return Finder(runs, options).Run();
}

std::vector<double> ChangePValues(std::span<const std::vector<RunLaunches>> series, double rate,
                                  const ChangePointOptions& options) {
  RequireShares(options);
  if (!(rate > 0 && rate < 1)) throw std::invalid_argument("a rate outside (0, 1)");
  struct SeriesTest {
    Finder finder;
    Finder::Split split;
    // True if the p-value is exact enough without further permutations.
    bool IsDecided() const { return !split.exceeds_rounding || split.draws_with_gain >= kMinDrawsWithGain; }
  };
  std::vector<SeriesTest> tests;
  for (const std::vector<RunLaunches>& runs : series) {
    Finder finder(runs, options);
    Finder::Split split = finder.BestSplitOfSeries();
    tests.push_back({std::move(finder), std::move(split)});
  }
  std::vector<double> p_values(tests.size(), 1), adjusted(tests.size(), 1);
  const auto needs_draws = [&](std::size_t i) {
    return !tests[i].IsDecided() && adjusted[i] > kDecidedRateFactor * rate;
  };
  // A single changed series among all must be able to reach significance.
  const auto max_draws = static_cast<int>(std::min(kMaxDraws, 10 * static_cast<double>(tests.size()) / rate));
  for (int draws = 0; draws < max_draws;) {
    draws = std::min(max_draws, draws == 0 ? options.permutations : 4 * draws);
    ParallelFor(tests.size(), 0, [&](std::size_t i) {  // in any order: each series has its own generator
      if (needs_draws(i)) tests[i].finder.Draw(tests[i].split, draws, kMinDrawsWithGain, 0, [](double) {});
      p_values[i] = tests[i].split.PValue();
    });
    adjusted = BenjaminiHochberg(p_values);
  }
  ParallelFor(tests.size(), 0, [&](std::size_t i) {
    if (adjusted[i] <= rate && tests[i].finder.SeriesMayBeDrift()) p_values[i] = 1;
  });
  return p_values;
}

std::optional<std::size_t> RunsToDetect(const ChangePoints& change_points, double log_size, double level,
                                        std::size_t max_runs) {
  if (!change_points.run_sd || change_points.last_runs < kMinSegmentRuns) return std::nullopt;
  constexpr double kNormalQuantile90 = 1.2816;
  const double critical_t_with_power = change_points.critical_t.value_or(3.5) + kNormalQuantile90;
  const auto before = static_cast<double>(change_points.last_runs);
  double log_orders = 0;
  for (std::size_t new_runs = 1; new_runs <= max_runs; ++new_runs) {
    const auto after = static_cast<double>(new_runs);
    log_orders += std::log((before + after) / after);
    // The smallest possible p-value: out of all orders, the perfect split and its mirror image.
    if (new_runs < kMinSegmentRuns || std::log(2.0) - log_orders > std::log(level)) continue;
    const double t = std::abs(log_size) * std::sqrt(before * after / (before + after));
    // The t that the drift test needs for the same power if the runs do not drift.
    const double drift_t = 7 + 50 / (before + after);
    if (t >= *change_points.run_sd * std::max(critical_t_with_power, drift_t)) return new_runs;
  }
  return std::nullopt;
}

}  // namespace etprof::stats
