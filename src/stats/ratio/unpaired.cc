#include "stats/ratio/unpaired.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "core/views.h"
#include "stats/compensated_sum.h"
#include "stats/distribution.h"

namespace etprof::stats {
namespace {

constexpr std::size_t kMinBatches = 5;  // fewer batches give no usable standard error
constexpr int kResamples = 1000;
constexpr double kMaxDegreesOfFreedom = 1e6;  // degrees of freedom at which Student's t is practically normal

// A series that is cut into batches of consecutive runs of about equal length, with its runs in ascending
// order.
struct Batches {
  std::vector<double> sorted;
  std::vector<std::size_t> batch_of_sorted;
  std::vector<std::size_t> lengths;
};

Batches CutIntoBatches(std::span<const double> runs, std::size_t batch_length) {
  const std::size_t count = runs.size() / batch_length;
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return runs[a] < runs[b]; });

  Batches batches;
  batches.lengths.assign(count, 0);
  for (const std::size_t run : order) {
    const std::size_t batch = run * count / runs.size();
    batches.sorted.push_back(runs[run]);
    batches.batch_of_sorted.push_back(batch);
    ++batches.lengths[batch];
  }
  return batches;
}

// Ranks from 1 on; equal values share their mean rank.
std::vector<double> Ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = static_cast<double>(first + end + 1) / 2;
    first = end;
  }
  return ranks;
}

// The lag-1 autocorrelation of a normal autoregressive series, AR(1), whose ranks correlate like those of
// these runs. Corrected for the bias of short series.
double LagOneCorrelation(std::span<const double> runs) {
  const std::vector<double> ranks = Ranks(runs);
  const double mean = CompensatedMean(ranks);
  const double variance = SquaredDeviations(ranks, mean);
  if (variance == 0) return 0;
  double covariance = 0;
  for (std::size_t i = 1; i < ranks.size(); ++i) covariance += (ranks[i] - mean) * (ranks[i - 1] - mean);
  const double correlation = 2 * std::sin(std::numbers::pi / 6 * covariance / variance);
  return correlation + (1 + 3 * correlation) / static_cast<double>(runs.size());
}

// The result of AutocorrelationTime() for an infinite normal AR(1) series with this lag-1 autocorrelation.
double AutoregressiveTime(double correlation) {
  constexpr double kMaxCorrelation = 0.999;
  constexpr double kMinPower = 1e-6;
  double time = 1;
  const double base = std::clamp(correlation, 0.0, kMaxCorrelation);
  for (double power = base; power > kMinPower; power *= base) time += 4 / std::numbers::pi * std::asin(power);
  return time;
}

// The variance of the logarithm of the median of `independent_runs` independent runs with the distribution of
// `sorted`.
double VarianceOfLogMedian(const std::vector<double>& sorted, double independent_runs) {
  const double rank_error = std::min(0.5, 0.5 / std::sqrt(independent_runs));
  const double error =
      (std::log(Quantile(sorted, 0.5 + rank_error)) - std::log(Quantile(sorted, 0.5 - rank_error))) / 2;
  // A small sample scatters less around its own median than around the true one.
  return error * error * independent_runs / (independent_runs - 1);
}

// The median if batch i occurs counts[i] times.
double ResampledMedian(const Batches& batches, const std::vector<std::size_t>& counts) {
  const std::size_t total =
      std::inner_product(counts.begin(), counts.end(), batches.lengths.begin(), std::size_t{0});
  const std::size_t lower = (total - 1) / 2;
  const std::size_t upper = total / 2;
  std::size_t cumulative_count = 0;
  double lower_value = 0;
  for (std::size_t i = 0;; ++i) {
    const std::size_t before = cumulative_count;
    cumulative_count += counts[batches.batch_of_sorted[i]];
    if (before <= lower && lower < cumulative_count) lower_value = batches.sorted[i];
    if (upper < cumulative_count) return lower_value + (batches.sorted[i] - lower_value) / 2;
  }
}

// The logarithm of the typical time of a variant.
struct LogTime {
  double value = 0, variance = 0, degrees_of_freedom = 0;
};

LogTime Bootstrap(std::span<const double> runs, double independent_runs, Random& random) {
  const Batches batches = CutIntoBatches(runs, BatchLength(runs));
  const std::size_t count = batches.lengths.size();
  std::vector<double> resampled;
  std::vector<std::size_t> counts(count);
  for (int i = 0; i < kResamples; ++i) {
    std::ranges::fill(counts, std::size_t{0});
    for (std::size_t draw = 0; draw < count; ++draw) ++counts[random.Below(count)];
    resampled.push_back(std::log(ResampledMedian(batches, counts)));
  }
  const double mean = CompensatedMean(resampled);
  const auto n = static_cast<double>(count);
  // A bootstrap of b batches has only (b - 1) / b of the variance (Davison & Hinkley, 1997, section 2.3).
  const double batch_variance = SquaredDeviations(resampled, mean) / (kResamples - 1) * n / (n - 1);
  return {.value = std::log(*Median(runs)),
          .variance = std::max(batch_variance, VarianceOfLogMedian(batches.sorted, independent_runs)),
          .degrees_of_freedom = std::min(n, independent_runs) - 1};
}

std::vector<double> PositiveValues(std::span<const double> runs) {
  std::vector<double> usable;
  std::ranges::copy_if(runs, std::back_inserter(usable), [](double x) { return std::isfinite(x) && x > 0; });
  return usable;
}

RatioEstimate CompareTimes(const LogTime& baseline, const LogTime& candidate, double confidence) {
  RatioEstimate estimate;
  estimate.log_ratio = baseline.value - candidate.value;
  estimate.log_middle = (baseline.value + candidate.value) / 2;
  estimate.standard_error = std::sqrt(baseline.variance + candidate.variance);
  estimate.degrees_of_freedom = std::min(baseline.degrees_of_freedom, candidate.degrees_of_freedom);
  return AddInterval(estimate, confidence);
}

}  // namespace

double AutocorrelationTime(std::span<const double> runs) {
  const auto n = runs.size();
  if (n < 2) return 1;
  const double median = *Median(runs);
  const auto above_median = MapEach(runs, [&](double run) { return run > median ? 1.0 : 0.0; });
  const double mean = CompensatedMean(above_median);
  const double variance = SquaredDeviations(above_median, mean);
  if (variance == 0) return 1;
  double time = 1;
  for (std::size_t lag = 1; lag < n / 2; ++lag) {
    double covariance = 0;
    for (std::size_t i = lag; i < n; ++i)
      covariance += (above_median[i] - mean) * (above_median[i - lag] - mean);
    time += 2 * covariance / variance;
    if (static_cast<double>(lag) >= 5 * time) break;
  }
  return std::max(1.0, time);
}

double IndependentRuns(std::span<const double> runs) {
  if (runs.size() < 2) return 0;
  const double time = std::max(AutocorrelationTime(runs), AutoregressiveTime(LagOneCorrelation(runs)));
  return static_cast<double>(runs.size()) / time;
}

std::size_t BatchLength(std::span<const double> runs) {
  const auto n = static_cast<double>(runs.size());
  const double length = std::max(std::cbrt(n), 5 * AutocorrelationTime(runs));
  const double max_length = std::max(1.0, std::floor(n / kMinBatches));
  return static_cast<std::size_t>(std::min(std::ceil(length), max_length));
}

std::optional<RatioEstimate> EstimateUnpaired(std::span<const double> baseline,
                                              std::span<const double> candidate, double confidence,
                                              std::uint64_t seed) {
  const std::vector<double> baseline_runs = PositiveValues(baseline);
  const std::vector<double> candidate_runs = PositiveValues(candidate);
  if (baseline_runs.size() < kMinUnpairedRuns || candidate_runs.size() < kMinUnpairedRuns)
    return std::nullopt;
  const double baseline_independent = IndependentRuns(baseline_runs);
  const double candidate_independent = IndependentRuns(candidate_runs);
  if (std::min(baseline_independent, candidate_independent) < kMinIndependentRuns) return std::nullopt;

  Random random(seed);
  const LogTime baseline_median = Bootstrap(baseline_runs, baseline_independent, random);
  return CompareTimes(baseline_median, Bootstrap(candidate_runs, candidate_independent, random), confidence);
}

std::optional<RatioEstimate> EstimateUnpairedLaunches(std::span<const double> baseline,
                                                      std::span<const double> candidate, double confidence) {
  const auto mean_of_logs = [](std::span<const double> values) -> std::optional<LogTime> {
    std::vector<double> logs = PositiveValues(values);
    if (logs.size() < 2) return std::nullopt;
    for (double& value : logs) value = std::log(value);
    const auto n = static_cast<double>(logs.size());
    const double mean = CompensatedMean(logs);
    return LogTime{mean, SquaredDeviations(logs, mean) / (n - 1) / n, n - 1};
  };
  const std::optional<LogTime> a = mean_of_logs(baseline);
  const std::optional<LogTime> b = mean_of_logs(candidate);
  return a && b ? std::optional(CompareTimes(*a, *b, confidence)) : std::nullopt;
}

std::optional<RatioEstimate> EstimateLaunchesWithDrift(std::span<const double> baseline,
                                                       std::span<const double> candidate, double confidence,
                                                       double drift) {
  const auto estimate = EstimateUnpairedLaunches(baseline, candidate, confidence);
  return estimate ? std::optional(WithDrift(*estimate, drift)) : std::nullopt;
}

RatioEstimate WithDrift(const RatioEstimate& estimate, double drift) {
  RatioEstimate result = estimate;
  const double launch_variance = estimate.standard_error * estimate.standard_error;
  const double variance = launch_variance + 2 * drift * drift;
  result.standard_error = std::sqrt(variance);
  result.degrees_of_freedom =
      launch_variance > 0
          ? std::min(kMaxDegreesOfFreedom, estimate.degrees_of_freedom * variance / launch_variance)
          : kMaxDegreesOfFreedom;
  return AddInterval(result, estimate.confidence);
}

}  // namespace etprof::stats
