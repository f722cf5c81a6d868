#include "measure/schedule/run_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/distribution.h"

namespace etprof {
namespace {

constexpr std::size_t kMaxSamples = 9;
constexpr std::size_t kMaxWarmUpRuns = 5;  // the last runs are most like recorded runs

double SumOfTimes(const std::vector<Nanoseconds>& times) {
  return static_cast<double>(std::accumulate(times.begin(), times.end(), Nanoseconds{0}));
}

constexpr double kMaxOpeningSeconds = 0.25;
constexpr int kDefaultOpeningRuns = 4;

}  // namespace

int RunsWithin(double seconds, double spacing_ns, int low, int high) {
  return static_cast<int>(std::clamp(std::floor(seconds * 1e9 / spacing_ns), double(low), double(high)));
}

int MaxOpeningRuns(double spacing_ns) { return RunsWithin(kMaxOpeningSeconds, spacing_ns, 1, 30); }

double RunCost::PlannedOpeningRuns() const {
  return opening_runs.value_or(std::min(kDefaultOpeningRuns, MaxOpeningRuns(wall_ns)));
}

void RunCostEstimate::Add(double latency_ns, double total_ns, std::size_t runs, double runs_ns,
                          std::optional<double> wall_seconds, std::optional<double> opening_runs) {
  // A device's clock may be wrong; the wall time on this machine is an upper bound.
  if (wall_seconds) runs_ns = std::min(runs_ns, *wall_seconds * 1e9);
  Sample sample;
  sample.latency_ns = std::max(1.0, latency_ns);
  sample.gap_ns = std::max(0.0, (runs_ns - total_ns) / static_cast<double>(runs));
  sample.wall_ns = runs_ns / static_cast<double>(runs);
  if (wall_seconds) sample.request_seconds = std::max(0.0, *wall_seconds - runs_ns / 1e9);
  sample.opening_runs = opening_runs;
  samples_.push_back(sample);
  if (samples_.size() > kMaxSamples) samples_.pop_front();
}

void RunCostEstimate::AddWarmUp(const Launch& launch, std::size_t warmup_before, bool first_before,
                                double wall_seconds, std::optional<Nanoseconds> runs_ns) {
  if (has_bursts_) return;
  // The first run packs weights and meets page faults, so it counts only if there is no other.
  std::vector<double> runs(launch.warmup.begin() + static_cast<std::ptrdiff_t>(warmup_before),
                           launch.warmup.end());
  double first_run_ns = 0;
  if (launch.first_run && !first_before) {
    (runs.empty() ? runs.emplace_back() : first_run_ns) = static_cast<double>(*launch.first_run);
  }
  if (runs.empty()) return;
  const double total_ns = std::accumulate(runs.begin(), runs.end(), 0.0);
  const std::vector<double> last_runs(
      runs.end() - static_cast<std::ptrdiff_t>(std::min(runs.size(), kMaxWarmUpRuns)), runs.end());
  const double all_ns =
      std::max(total_ns + first_run_ns, runs_ns ? static_cast<double>(*runs_ns) : wall_seconds * 1e9);
  samples_.clear();
  Add(*stats::Median(std::span<const double>(last_runs)), total_ns, runs.size(), all_ns - first_run_ns,
      wall_seconds, std::nullopt);
}

void RunCostEstimate::AddBurst(const Launch& launch, std::optional<double> wall_seconds, bool whole_process) {
  const Burst& burst = launch.bursts.back();
  const auto median = burst.Median() ? burst.Median() : burst.MedianOfAll();
  if (!median) return;
  std::size_t opening = burst.opening.size();
  double total_ns = SumOfTimes(burst.opening) + SumOfTimes(burst.recorded) + SumOfTimes(burst.traced);
  if (whole_process) {
    total_ns += SumOfTimes(launch.warmup) + static_cast<double>(launch.first_run.value_or(0));
    opening += launch.warmup.size() + (launch.first_run ? 1 : 0);
  }
  const std::size_t runs = opening + burst.recorded.size() + burst.traced.size();
  double runs_ns = std::max(total_ns, static_cast<double>(burst.end - burst.start));
  if (burst.end == 0 && !whole_process) {
    // Without the device's clock, the whole request counts as its runs.
    if (!wall_seconds) return;
    runs_ns = std::max(total_ns, *wall_seconds * 1e9);
  }
  if (!has_bursts_) samples_.clear();
  has_bursts_ = true;
  Add(static_cast<double>(*median), total_ns, runs, runs_ns, wall_seconds, static_cast<double>(opening));
}

std::optional<RunCost> RunCostEstimate::Get() const {
  if (samples_.empty()) return std::nullopt;
  const auto median = [&](double Sample::*member) {
    std::vector<double> values;
    for (const Sample& sample : samples_) values.push_back(sample.*member);
    return *stats::Median(std::span<const double>(values));
  };
  RunCost cost;
  cost.spacing_ns = median(&Sample::latency_ns) + median(&Sample::gap_ns);
  cost.wall_ns = std::max(cost.spacing_ns, median(&Sample::wall_ns));
  cost.request_seconds = median(&Sample::request_seconds);
  if (has_bursts_) {
    std::vector<double> opening;
    for (const Sample& sample : samples_) opening.push_back(*sample.opening_runs);
    cost.opening_runs = stats::Median(std::span<const double>(opening));
  }
  return cost;
}

}  // namespace etprof
