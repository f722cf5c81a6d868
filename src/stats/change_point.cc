#include "stats/change_point.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/parallel.h"
#include "core/random.h"
#include "stats/distribution.h"
#include "stats/drift.h"
#include "stats/ratio/multiple.h"
#include "stats/ratio/student_t.h"

namespace etprof::stats {
namespace {

constexpr std::size_t kLeastSide = 2;         // runs on either side of a split
constexpr std::size_t kMostOfInterval = 200;  // runs on either side that the interval of a place looks at
constexpr int kIntervalPermutations = 399;
// Of the level at which a place is refused: the step and the residuals are those of the best place found, so
// that a test at the full level covers 93 % instead of 95 % (bench/statistics/change_point).
constexpr double kPartOfLevel = 0.6;
// A place is refused when none of so many draws is as far off. The chance that the others would have accepted
// it costs the interval less than 0.05 % of its coverage (the integral of (1 - p)^100 above the level).
constexpr int kNoneOf = 100;
// Of each split; most series that drift and have none are asked once.
constexpr double kDriftLevel = 0.015;
constexpr int kEnough = 20;         // draws as large as what was found: the p-value is known within a quarter
constexpr double kMostDraws = 1e6;  // bounds the time of the series that they do not decide
// A series is drawn no further while it shows a change at this part of the rate. That more draws would have
// decided otherwise has then a chance of less than a hundredth of the rate.
constexpr double kPartOfRate = 0.25;

// Runs [from, to) of the series, with what a split of them is judged by.
struct Stretch {
  std::size_t from = 0, to = 0;
  double level = 0;
};

class Finder {
 public:
  Finder(std::span<const RunLaunches> runs, const ChangePointOptions& options)
      : options_(options), random_(options.seed) {
    std::vector<double> variances, sizes;
    for (const RunLaunches& run : runs) {
      const MiddleMean mean = MiddleMeanOf(run.logs);
      values_.push_back({mean.log, 1});
      groups_.push_back(run.group);
      sizes.push_back(static_cast<double>(run.logs.size()));
      if (mean.standard_error)
        variances.push_back(*mean.standard_error * *mean.standard_error * sizes.back());
    }
    Weigh(variances, sizes);
  }

  ChangePoints Run() {
    ChangePoints found;
    if (values_.size() >= kLeastRunsOfSeries) {
      found.p_value = Divide({0, values_.size(), options_.level}, options_.p_value);
      std::ranges::sort(changes_, {}, &LevelChange::at);
      for (std::size_t i = 0; i < changes_.size(); ++i) {
        const std::size_t from = i == 0 ? 0 : changes_[i - 1].at;
        Refine(changes_[i], from, i + 1 < changes_.size() ? changes_[i + 1].at : values_.size());
      }
    }
    Spread(found);
    found.changes = std::move(changes_);
    found.runs = std::move(values_);
    return found;
  }

  // The best split of runs [from, to), and what runs in other orders come to.
  struct Split {
    std::size_t from = 0, at = 0;
    double gain = 0;
    bool may_differ = false;  // by more than rounding
    std::vector<RunValue> shuffled;
    int draws = 0, as_large = 0;  // other orders, and those of a gain as large

    double PValue() const { return (1.0 + as_large) / (1.0 + draws); }
  };
  Split BestOf(std::size_t from, std::size_t to) const {
    Split split;
    split.from = split.at = from;
    if (to - from < kLeastRunsOfSeries / 2) return split;
    const std::span<const RunValue> values(values_.data() + from, to - from);
    const std::vector<double> gains = Gains(values, from, kLeastSide);
    const auto best = std::ranges::max_element(gains);
    split.at = from + static_cast<std::size_t>(best - gains.begin());
    split.gain = *best;
    split.may_differ = !IsRounding(split.gain, values);
    split.shuffled.assign(values.begin(), values.end());
    return split;
  }
  Split BestOfAll() const {
    return values_.size() < kLeastRunsOfSeries ? Split{} : BestOf(0, values_.size());
  }

  // Whether runs [from, to) may be drifting, and none of them begins a new level.
  bool MayBeDrift(std::size_t from, std::size_t to) {
    if (!options_.beside_drift) return false;
    std::vector<double> logs;
    for (std::size_t i = from; i < to; ++i) logs.push_back(values_[i].log);
    return DriftPValue(logs, random_) > kDriftLevel;
  }
  bool MayAllBeDrift() { return MayBeDrift(0, values_.size()); }

  // Draws on until there are `draws` other orders, or at least `least` of them `enough` of which differ as
  // much as the runs (Besag & Clifford, "Sequential Monte Carlo p-Values", Biometrika 78, 1991). `take` gets
  // the gain of each.
  template <typename Take>
  void Draw(Split& split, int draws, int enough, int least, Take&& take) {
    const Middle middle = MiddleOf(split.shuffled);
    for (; split.draws < draws && (split.as_large < enough || split.draws < least); ++split.draws) {
      random_.Shuffle(std::span(split.shuffled));
      const double gain = LargestGain(split.shuffled, middle, split.from, kLeastSide);
      split.as_large += gain >= split.gain * (1 - 1e-9) ? 1 : 0;
      take(gain);
    }
  }

 private:
  // Neighbors have the same level but for a few: their differences show how runs spread (Rice, Annals of
  // Statistics 12, 1984), of which the launches explain a part.
  void Weigh(const std::vector<double>& variances, const std::vector<double>& sizes) {
    if (values_.size() < 3 || variances.empty()) return;
    std::vector<double> steps;
    for (std::size_t i = 1; i < values_.size(); ++i)
      steps.push_back(std::abs(values_[i].log - values_[i - 1].log));
    const double spread = 1.4826 * *Median(steps) / std::sqrt(2.0);
    const double of_launch =
        std::accumulate(variances.begin(), variances.end(), 0.0) / static_cast<double>(variances.size());
    double of_launches = 0;
    for (const double size : sizes) of_launches += of_launch / size / static_cast<double>(sizes.size());
    of_launches_ = of_launches;
    const double between = std::max(0.0, spread * spread - of_launches);
    double sum = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double variance = between + of_launch / sizes[i];
      if (!(variance > 0)) return;  // without any spread all are alike
      values_[i].weight = 1 / variance;
      sum += values_[i].weight;
    }
    for (RunValue& value : values_) value.weight *= static_cast<double>(values_.size()) / sum;
  }

  bool MaySplit(std::size_t at) const { return groups_[at - 1] != groups_[at]; }

  struct Middle {
    double weights = 0, mean = 0;
  };
  static Middle MiddleOf(std::span<const RunValue> values) {
    Middle middle;
    double sum = 0;
    for (const RunValue& value : values) {
      middle.weights += value.weight;
      sum += value.weight * value.log;
    }
    middle.mean = sum / middle.weights;
    return middle;
  }

  // Calls take(k, reduction of the sum of squares by a split of `values` before k) wherever there may be one.
  // `values` stand for the runs from `from` on, `middle` is theirs.
  template <typename Take>
  void ForGains(std::span<const RunValue> values, const Middle& middle, std::size_t from, std::size_t least,
                Take&& take) const {
    double left = 0, off = 0;
    for (std::size_t k = 1; k + least <= values.size(); ++k) {
      left += values[k - 1].weight;
      off += values[k - 1].weight * (values[k - 1].log - middle.mean);
      if (k >= least && MaySplit(from + k))
        take(k, off * off * middle.weights / (left * (middle.weights - left)));
    }
  }
  // By place, 0 where there may be none.
  std::vector<double> Gains(std::span<const RunValue> values, std::size_t from, std::size_t least) const {
    std::vector<double> gains(values.size());
    ForGains(values, MiddleOf(values), from, least, [&](std::size_t k, double gain) { gains[k] = gain; });
    return gains;
  }
  double LargestGain(std::span<const RunValue> values, const Middle& middle, std::size_t from,
                     std::size_t least) const {
    double largest = 0;
    ForGains(values, middle, from, least,
             [&](std::size_t, double gain) { largest = std::max(largest, gain); });
    return largest;
  }

  static double SquaresOf(std::span<const RunValue> values) {
    const double mean = MiddleOf(values).mean;
    double squares = 0;
    for (const RunValue& value : values) squares += value.weight * (value.log - mean) * (value.log - mean);
    return squares;
  }

  // Whether a reduction is nothing but what rounding leaves of equal values.
  static bool IsRounding(double gain, std::span<const RunValue> values) {
    double largest = 0;
    for (const RunValue& value : values) largest = std::max(largest, std::abs(value.log));
    const double one = 1e-12 * std::max(1.0, largest);
    return gain <= one * one * static_cast<double>(values.size());
  }

  // Returns the p-value of the stretch's best split.
  double Divide(const Stretch& stretch, std::optional<double> known = std::nullopt) {
    Split split = BestOf(stretch.from, stretch.to);
    std::vector<double> largest;
    if (!known && split.may_differ) {
      const int permutations = std::max(options_.permutations, static_cast<int>(20 / stretch.level));
      // Once it is certain that the level is missed, a few more are for the critical value.
      Draw(split, permutations, static_cast<int>(stretch.level * (1 + permutations)), options_.permutations,
           [&](double gain) { largest.push_back(gain); });
    }
    double p_value = known.value_or(split.PValue());
    if (!split.may_differ) return p_value;
    if (!known && p_value <= stretch.level && MayBeDrift(stretch.from, stretch.to)) p_value = 1;
    if (p_value > stretch.level) {
      if (stretch.to == values_.size() && !largest.empty()) KeepCritical(std::move(largest), split);
      return p_value;
    }
    LevelChange change;
    change.at = change.earliest = change.latest = split.at;
    change.p_value = p_value;
    changes_.push_back(change);
    Divide({stretch.from, split.at, stretch.level / 2});
    Divide({split.at, stretch.to, stretch.level / 2});
    return p_value;
  }

  void KeepCritical(std::vector<double> largest, const Split& split) {
    const std::size_t count = split.shuffled.size();
    const auto rank = static_cast<std::ptrdiff_t>(
        std::min(largest.size() - 1,
                 static_cast<std::size_t>((1 - options_.level) * static_cast<double>(largest.size()))));
    std::nth_element(largest.begin(), largest.begin() + rank, largest.end());
    const double gain = largest[static_cast<std::size_t>(rank)];
    const double rest = SquaresOf(split.shuffled) - gain;
    if (count > 2 && rest > 0) critical_t_ = std::sqrt(gain / (rest / static_cast<double>(count - 2)));
  }

  void Refine(LevelChange& change, std::size_t from, std::size_t to) {
    if (change.at - from > kMostOfInterval) from = change.at - kMostOfInterval;
    if (to - change.at > kMostOfInterval) to = change.at + kMostOfInterval;
    const std::span<const RunValue> values(values_.data() + from, to - from);
    std::vector<double> gains = Gains(values, from, kLeastSide);
    change.at = from + static_cast<std::size_t>(std::ranges::max_element(gains) - gains.begin());
    gains = Gains(values, from, 1);
    const double best = *std::ranges::max_element(gains);
    change.earliest = change.latest = change.at;
    change.log_size = SizeAt(from, change.at, to);
    WidenSize(change, from, change.at, to);
    // What each run is off its level, in the order of another draw, with the step at the place in question.
    std::vector<RunValue> residuals(values.begin(), values.end());
    const double left = MeanOf(from, change.at), right = MeanOf(change.at, to);
    const auto count = static_cast<double>(values.size());
    const double estimated = count > 2 ? std::sqrt(count / (count - 2)) : 1;  // two levels took their part
    for (std::size_t i = 0; i < residuals.size(); ++i)
      residuals[i].log = estimated * (residuals[i].log - (from + i < change.at ? left : right));
    const int most = static_cast<int>(kPartOfLevel * (1 - options_.confidence) * (kIntervalPermutations + 1));
    std::vector<RunValue> stepped;
    for (std::size_t k = 1; k < values.size(); ++k) {
      if (!MaySplit(from + k)) continue;
      const double missing = best - gains[k];
      int as_much = 0;  // accepted as soon as there are enough
      for (int i = 0; i < kIntervalPermutations && as_much < most && (as_much > 0 || i < kNoneOf); ++i) {
        random_.Shuffle(std::span(residuals));
        stepped = residuals;
        for (std::size_t j = 0; j < stepped.size(); ++j) stepped[j].log += j < k ? left : right;
        double largest = 0, here = 0;
        ForGains(stepped, MiddleOf(stepped), from, 1, [&](std::size_t place, double gain) {
          largest = std::max(largest, gain);
          if (place == k) here = gain;
        });
        as_much += largest - here >= missing * (1 - 1e-9) ? 1 : 0;
      }
      if (as_much < most) continue;
      change.earliest = std::min(change.earliest, from + k);
      change.latest = std::max(change.latest, from + k);
      WidenSize(change, from, from + k, to);
    }
  }

  double MeanOf(std::size_t from, std::size_t to) const {
    return MiddleOf(std::span(values_).subspan(from, to - from)).mean;
  }
  double SizeAt(std::size_t from, std::size_t at, std::size_t to) const {
    return MeanOf(at, to) - MeanOf(from, at);
  }

  void WidenSize(LevelChange& change, std::size_t from, std::size_t at, std::size_t to) const {
    if (at - from < kLeastSide || to - at < kLeastSide || to - from < 3) return;
    const std::span<const RunValue> all(values_.data() + from, to - from);
    const double squares = SquaresOf(all.first(at - from)) + SquaresOf(all.subspan(at - from));
    const auto freedom = static_cast<double>(to - from - 2);
    const double error = std::sqrt(
        squares / freedom *
        (1 / MiddleOf(all.first(at - from)).weights + 1 / MiddleOf(all.subspan(at - from)).weights));
    const double half = error == 0 ? 0 : CriticalValue(options_.confidence, freedom) * error;
    const double size = SizeAt(from, at, to);
    const bool first = change.log_low == 0 && change.log_high == 0;
    change.log_low = first ? size - half : std::min(change.log_low, size - half);
    change.log_high = first ? size + half : std::max(change.log_high, size + half);
  }

  void Spread(ChangePoints& found) const {
    double squares = 0;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= changes_.size(); ++i) {
      const std::size_t to = i < changes_.size() ? changes_[i].at : values_.size();
      if (to > from) squares += SquaresOf(std::span(values_).subspan(from, to - from));
      found.last_runs = to - from;
      from = to;
    }
    const std::size_t levels = changes_.size() + 1;
    if (values_.size() > levels + 1) {
      const double variance = squares / static_cast<double>(values_.size() - levels);
      found.run_sd = std::sqrt(variance);
      if (of_launches_) found.between_sd = std::sqrt(std::max(0.0, variance - *of_launches_));
    }
    found.critical_t = critical_t_;
  }

  const ChangePointOptions& options_;
  Random random_;
  std::vector<RunValue> values_;
  std::vector<std::int64_t> groups_;
  std::vector<LevelChange> changes_;
  std::optional<double> of_launches_;  // the variance of a run's value that its launches explain, on average
  std::optional<double> critical_t_;
};

void RequireShares(const ChangePointOptions& options) {
  if (!(options.level > 0 && options.level < 1) || !(options.confidence > 0 && options.confidence < 1))
    throw std::invalid_argument("a level or confidence outside (0, 1)");
}

}  // namespace

MiddleMean MiddleMeanOf(std::span<const double> logs) {
  if (logs.empty()) throw std::invalid_argument("a run without launches");
  std::vector<double> sorted(logs.begin(), logs.end());
  std::ranges::sort(sorted);
  const std::size_t cut = sorted.size() < 4 ? 0 : sorted.size() / 4;
  const std::span<const double> middle(sorted.data() + cut, sorted.size() - 2 * cut);
  const auto kept = static_cast<double>(middle.size());
  MiddleMean mean;
  mean.log = std::accumulate(middle.begin(), middle.end(), 0.0) / kept;
  if (sorted.size() < 2) return mean;
  const double low = middle.front(), high = middle.back();
  for (double& log : sorted) log = std::clamp(log, low, high);
  const auto count = static_cast<double>(sorted.size());
  const double center = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double squares = 0;
  for (const double log : sorted) squares += (log - center) * (log - center);
  mean.standard_error = std::sqrt(squares / (count - 1) / count) / (kept / count);
  mean.degrees_of_freedom = kept - 1;
  return mean;
}

ChangePoints FindChangePoints(std::span<const RunLaunches> runs, const ChangePointOptions& options) {
  RequireShares(options);
  return Finder(runs, options).Run();
}

std::vector<double> PValuesOfChanges(std::span<const std::vector<RunLaunches>> series, double rate,
                                     const ChangePointOptions& options) {
  RequireShares(options);
  if (!(rate > 0 && rate < 1)) throw std::invalid_argument("a rate outside (0, 1)");
  struct One {
    Finder finder;
    Finder::Split split;
    bool Decided() const { return !split.may_differ || split.as_large >= kEnough; }  // by itself
  };
  std::vector<One> all;
  for (const std::vector<RunLaunches>& runs : series) {
    Finder finder(runs, options);
    Finder::Split split = finder.BestOfAll();
    all.push_back({std::move(finder), std::move(split)});
  }
  std::vector<double> p_values(all.size(), 1), adjusted(all.size(), 1);
  const auto open = [&](std::size_t i) { return !all[i].Decided() && adjusted[i] > kPartOfRate * rate; };
  // A single one of all of them has to be able to show.
  const auto most = static_cast<int>(std::min(kMostDraws, 10 * static_cast<double>(all.size()) / rate));
  for (int draws = 0; draws < most;) {
    draws = std::min(most, draws == 0 ? options.permutations : 4 * draws);
    ParallelFor(all.size(), 0, [&](std::size_t i) {  // the order does not matter: each has its own generator
      if (open(i)) all[i].finder.Draw(all[i].split, draws, kEnough, 0, [](double) {});
      p_values[i] = all[i].split.PValue();
    });
    adjusted = BenjaminiHochberg(p_values);
  }
  ParallelFor(all.size(), 0, [&](std::size_t i) {
    if (adjusted[i] <= rate && all[i].finder.MayAllBeDrift()) p_values[i] = 1;
  });
  return p_values;
}

std::optional<std::size_t> RunsToShow(const ChangePoints& found, double log_size, double level,
                                      std::size_t most) {
  if (!found.run_sd || found.last_runs < kLeastSide) return std::nullopt;
  constexpr double kPower = 1.2816;  // the quantile of the normal distribution at 90 %
  const double critical = found.critical_t.value_or(3.5) + kPower;
  const auto before = static_cast<double>(found.last_runs);
  double log_orders = 0;
  for (std::size_t more = 1; more <= most; ++more) {
    const auto after = static_cast<double>(more);
    log_orders += std::log((before + after) / after);
    // Of all orders of the runs, those that are split as well as the best: this and its mirror image.
    if (more < kLeastSide || std::log(2.0) - log_orders > std::log(level)) continue;
    const double t = std::abs(log_size) * std::sqrt(before * after / (before + after));
    // What the test against drift needs, for the same chance, of runs that do not drift.
    const double beside_drift = 7 + 50 / (before + after);
    if (t >= *found.run_sd * std::max(critical, beside_drift)) return more;
  }
  return std::nullopt;
}

}  // namespace etprof::stats
