#include "stats/change_point.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "stats/distribution.h"
#include "stats/student_t.h"

namespace etprof::stats {
namespace {

constexpr std::size_t kLeastSide = 2;         // runs on either side of a split
constexpr std::size_t kMostOfInterval = 200;  // runs on either side that the interval of a place looks at
constexpr int kIntervalPermutations = 399;
// Of the level at which a place is refused: the step and the residuals are those of the best place found, so
// that a test at the full level covers 93 % instead of 95 % (bench/change_point).
constexpr double kPartOfLevel = 0.6;

// The same on every platform, which std::shuffle is not (Vigna's SplitMix64, 2015).
class Shuffler {
 public:
  explicit Shuffler(std::uint64_t seed) : state_(seed) {}
  template <typename T>
  void Shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Below(i)]);
  }

 private:
  std::size_t Below(std::size_t bound) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<std::size_t>((z ^ (z >> 31U)) % bound);  // the bias of so few values is below 2^-50
  }
  std::uint64_t state_;
};

// Runs [from, to) of the series, with what a split of them is judged by.
struct Stretch {
  std::size_t from = 0, to = 0;
  double level = 0;
};

class Finder {
 public:
  Finder(std::span<const RunLaunches> runs, const ChangePointOptions& options)
      : options_(options), shuffler_(options.seed) {
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
      found.p_value = Divide({0, values_.size(), options_.level});
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

  double FirstP(double least_p) {
    if (values_.size() < kLeastRunsOfSeries) return 1;
    const int permutations = std::max(options_.permutations, static_cast<int>(std::ceil(1 / least_p)));
    return Best({0, values_.size(), options_.level}, permutations).p_value;
  }

 private:
  // Neighbours have the same level but for a few: their differences show how runs spread (Rice, Annals of
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
    const double between = std::max(0.0, spread * spread - of_launches);
    between_sd_ = std::sqrt(between);
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

  // The reduction of the sum of squares by a split of `values` before each place, 0 where there may be none.
  // `values` stand for the runs from `from` on.
  void Gains(std::span<const RunValue> values, std::size_t from, std::size_t least,
             std::vector<double>& gains) const {
    double weights = 0, sum = 0;
    for (const RunValue& value : values) {
      weights += value.weight;
      sum += value.weight * value.log;
    }
    const double mean = sum / weights;
    gains.assign(values.size(), 0);
    double left = 0, off = 0;
    for (std::size_t k = 1; k < values.size(); ++k) {
      left += values[k - 1].weight;
      off += values[k - 1].weight * (values[k - 1].log - mean);
      if (k >= least && k + least <= values.size() && MaySplit(from + k))
        gains[k] = off * off * weights / (left * (weights - left));
    }
  }

  static double SquaresOf(std::span<const RunValue> values) {
    double weights = 0, sum = 0, squares = 0;
    for (const RunValue& value : values) {
      weights += value.weight;
      sum += value.weight * value.log;
    }
    for (const RunValue& value : values)
      squares += value.weight * (value.log - sum / weights) * (value.log - sum / weights);
    return squares;
  }

  // Whether a reduction is nothing but what rounding leaves of equal values.
  static bool IsRounding(double gain, std::span<const RunValue> values) {
    double largest = 0;
    for (const RunValue& value : values) largest = std::max(largest, std::abs(value.log));
    const double one = 1e-12 * std::max(1.0, largest);
    return gain <= one * one * static_cast<double>(values.size());
  }

  struct Split {
    std::size_t at = 0;
    double p_value = 1;
    std::vector<double> largest;  // reductions of runs in another order
  };
  // The stretch's best split, tested in up to so many other orders.
  Split Best(const Stretch& stretch, int permutations) {
    Split split;
    const std::size_t count = stretch.to - stretch.from;
    if (count < kLeastRunsOfSeries / 2) return split;
    const std::span<const RunValue> values(values_.data() + stretch.from, count);
    std::vector<double> gains;
    Gains(values, stretch.from, kLeastSide, gains);
    const auto best = std::ranges::max_element(gains);
    const double gain = *best;
    if (IsRounding(gain, values)) return split;
    split.at = stretch.from + static_cast<std::size_t>(best - gains.begin());
    std::vector<RunValue> shuffled(values.begin(), values.end());
    int as_large = 0;
    std::vector<double>& largest = split.largest;
    // Once it is certain that the level is missed, a few more are for the critical value (Besag & Clifford,
    // "Sequential Monte Carlo p-Values", Biometrika 78, 1991).
    const int most = static_cast<int>(stretch.level * (1 + permutations));
    int draws = 0;
    for (; draws < permutations && (as_large < most || draws < options_.permutations); ++draws) {
      shuffler_.Shuffle(std::span(shuffled));
      Gains(shuffled, stretch.from, kLeastSide, gains);
      largest.push_back(*std::ranges::max_element(gains));
      as_large += largest.back() >= gain * (1 - 1e-9) ? 1 : 0;
    }
    split.p_value = (1.0 + as_large) / (1.0 + draws);
    return split;
  }

  // Returns the p-value of the stretch's best split.
  double Divide(const Stretch& stretch) {
    const Split split = Best(stretch, std::max(options_.permutations, static_cast<int>(20 / stretch.level)));
    if (split.largest.empty()) return split.p_value;
    if (split.p_value > stretch.level) {
      const std::size_t count = stretch.to - stretch.from;
      const std::span<const RunValue> values(values_.data() + stretch.from, count);
      if (stretch.to == values_.size()) KeepCritical(split.largest, SquaresOf(values), count);
      return split.p_value;
    }
    LevelChange change;
    change.at = change.earliest = change.latest = split.at;
    change.p_value = split.p_value;
    changes_.push_back(change);
    Divide({stretch.from, split.at, stretch.level / 2});
    Divide({split.at, stretch.to, stretch.level / 2});
    return split.p_value;
  }

  void KeepCritical(std::vector<double> largest, double squares, std::size_t count) {
    const auto rank = static_cast<std::ptrdiff_t>(
        std::min(largest.size() - 1,
                 static_cast<std::size_t>((1 - options_.level) * static_cast<double>(largest.size()))));
    std::nth_element(largest.begin(), largest.begin() + rank, largest.end());
    const double gain = largest[static_cast<std::size_t>(rank)];
    const double rest = squares - gain;
    if (count > 2 && rest > 0) critical_t_ = std::sqrt(gain / (rest / static_cast<double>(count - 2)));
  }

  void Refine(LevelChange& change, std::size_t from, std::size_t to) {
    if (change.at - from > kMostOfInterval) from = change.at - kMostOfInterval;
    if (to - change.at > kMostOfInterval) to = change.at + kMostOfInterval;
    const std::span<const RunValue> values(values_.data() + from, to - from);
    std::vector<double> gains;
    Gains(values, from, kLeastSide, gains);
    change.at = from + static_cast<std::size_t>(std::ranges::max_element(gains) - gains.begin());
    Gains(values, from, 1, gains);
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
    std::vector<double> drawn;
    for (std::size_t k = 1; k < values.size(); ++k) {
      if (!MaySplit(from + k)) continue;
      const double missing = best - gains[k];
      int as_much = 0;  // accepted as soon as there are enough
      for (int i = 0; i < kIntervalPermutations && as_much < most; ++i) {
        shuffler_.Shuffle(std::span(residuals));
        std::vector<RunValue> stepped = residuals;
        for (std::size_t j = 0; j < stepped.size(); ++j) stepped[j].log += j < k ? left : right;
        Gains(stepped, from, 1, drawn);
        as_much += *std::ranges::max_element(drawn) - drawn[k] >= missing * (1 - 1e-9) ? 1 : 0;
      }
      if (as_much < most) continue;
      change.earliest = std::min(change.earliest, from + k);
      change.latest = std::max(change.latest, from + k);
      WidenSize(change, from, from + k, to);
    }
  }

  double MeanOf(std::size_t from, std::size_t to) const {
    double weights = 0, sum = 0;
    for (std::size_t i = from; i < to; ++i) {
      weights += values_[i].weight;
      sum += values_[i].weight * values_[i].log;
    }
    return sum / weights;
  }
  double SizeAt(std::size_t from, std::size_t at, std::size_t to) const {
    return MeanOf(at, to) - MeanOf(from, at);
  }

  void WidenSize(LevelChange& change, std::size_t from, std::size_t at, std::size_t to) const {
    if (at - from < kLeastSide || to - at < kLeastSide || to - from < 3) return;
    const std::span<const RunValue> all(values_.data() + from, to - from);
    const double squares = SquaresOf(all.first(at - from)) + SquaresOf(all.subspan(at - from));
    const auto weights = [](std::span<const RunValue> some) {
      double sum = 0;
      for (const RunValue& value : some) sum += value.weight;
      return sum;
    };
    const auto freedom = static_cast<double>(to - from - 2);
    const double error = std::sqrt(squares / freedom *
                                   (1 / weights(all.first(at - from)) + 1 / weights(all.subspan(at - from))));
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
      found.run_sd = std::sqrt(squares / static_cast<double>(values_.size() - levels));
      found.between_sd = between_sd_;
    }
    found.critical_t = critical_t_;
  }

  const ChangePointOptions& options_;
  Shuffler shuffler_;
  std::vector<RunValue> values_;
  std::vector<std::int64_t> groups_;
  std::vector<LevelChange> changes_;
  std::optional<double> between_sd_, critical_t_;
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

double PValueOfChange(std::span<const RunLaunches> runs, double least_p, const ChangePointOptions& options) {
  RequireShares(options);
  return Finder(runs, options).FirstP(least_p);
}

std::optional<std::size_t> RunsToShow(const ChangePoints& found, double log_size, double level,
                                      std::size_t most) {
  if (!found.run_sd || found.last_runs < kLeastSide) return std::nullopt;
  constexpr double kPower = 1.2816;  // the quantile of the normal distribution at 90 %
  const double critical = found.critical_t.value_or(3.5);
  const auto before = static_cast<double>(found.last_runs);
  for (std::size_t more = kLeastSide; more <= most; ++more) {
    const auto after = static_cast<double>(more);
    // Of all orders of the runs, those that are split as well as the best: this and its mirror image.
    double log_orders = 0;
    for (std::size_t i = 1; i <= more; ++i)
      log_orders += std::log((before + static_cast<double>(i)) / static_cast<double>(i));
    if (std::log(2.0) - log_orders > std::log(level)) continue;
    const double t = std::abs(log_size) * std::sqrt(before * after / (before + after));
    if (t >= *found.run_sd * (critical + kPower)) return more;
  }
  return std::nullopt;
}

}  // namespace etprof::stats
