#include "measure/schedule/launch_shape.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "core/views.h"
#include "protocol/messages.h"
#include "stats/distribution.h"
#include "stats/ratio/launches.h"

namespace etprof {
namespace {

constexpr Nanoseconds kDefaultTarget = 50'000'000;
constexpr int kMinRunsPerBurst = 3;
constexpr double kWarmUpShare = 0.1;  // share of a launch's time

// Runs of a paced burst: a frequency governor averages over the last tens of milliseconds, so the clocks
// settle only after several periods.
constexpr int kPacedRuns = 10;

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

RunCost RunCost::AtPeriod(Nanoseconds period) const {
  RunCost cost = *this;
  cost.spacing_ns = std::max(spacing_ns, double(period));
  cost.wall_ns = std::max(wall_ns, cost.spacing_ns);
  return cost;
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
    // Without the device's clock, the duration of the request counts as the duration of its runs.
    if (!wall_seconds) return;
    runs_ns = std::max(total_ns, *wall_seconds * 1e9);
  }
  if (!has_bursts_) samples_.clear();
  has_bursts_ = true;
  Add(static_cast<double>(*median), total_ns, runs, runs_ns, wall_seconds, static_cast<double>(opening));
}

std::optional<RunCost> RunCostEstimate::Get() const {
  if (samples_.empty()) return std::nullopt;
  const auto median = [&](const auto& member) { return *stats::Median(MapEach(samples_, member)); };
  RunCost cost;
  cost.spacing_ns = median(&Sample::latency_ns) + median(&Sample::gap_ns);
  cost.wall_ns = std::max(cost.spacing_ns, median(&Sample::wall_ns));
  cost.request_seconds = median(&Sample::request_seconds);
  if (has_bursts_) cost.opening_runs = median([](const Sample& sample) { return *sample.opening_runs; });
  return cost;
}

int TracedRunsPerBurst(int runs, int launches, int rounds, int launch, int round) {
  const auto share = [](std::int64_t total, std::int64_t parts, std::int64_t part) {
    return total * (part + 1) / parts - total * part / parts;
  };
  const std::int64_t launch_runs = launch < launches
                                       ? share(runs, launches, launch)
                                       : (static_cast<std::int64_t>(runs) + launches - 1) / launches;
  return static_cast<int>(share(std::max<std::int64_t>(1, launch_runs), rounds, round));
}

Nanoseconds MinBurstLength(Nanoseconds period) { return std::max(kDefaultTarget, kPacedRuns * period); }

namespace {

// Implements FitLaunch.
class LaunchFitter {
 public:
  explicit LaunchFitter(const ShapeInput& input) : input_(input) {
    int known_costs = 0;
    RunCost mean;
    for (const ShapeInput::Experiment& experiment : input.experiments) {
      if (experiment.given_up || !experiment.cost) continue;
      const RunCost cost = experiment.cost->AtPeriod(experiment.period);
      ++known_costs;
      mean.spacing_ns += (cost.spacing_ns - mean.spacing_ns) / known_costs;
      mean.wall_ns += (cost.wall_ns - mean.wall_ns) / known_costs;
      mean.request_seconds += (cost.request_seconds - mean.request_seconds) / known_costs;
    }
    for (const ShapeInput::Experiment& experiment : input.experiments) {
      if (experiment.given_up) continue;
      const RunCost cost = experiment.cost.value_or(mean).AtPeriod(experiment.period);
      planned_.push_back({cost, experiment.traced, experiment.period > 0 ? kPacedRuns * cost.spacing_ns : 0});
    }
  }

  LaunchShape Run() {
    LaunchShape shape;
    shape.launches = input_.launches;
    if (!input_.launches_given) {
      const int min_launches = std::max(stats::kMinLaunches, input_.launches_done + 1);
      while (shape.launches > min_launches && !Fits(shape.launches)) --shape.launches;
    }
    const double budget = BurstBudget(shape.launches);
    const double target = double(input_.one_burst ? kDefaultRounds * kDefaultTarget : kDefaultTarget);
    shape.target = static_cast<Nanoseconds>(target);
    const double min_traced_seconds = TracedSeconds(shape.launches, kMinTracedRuns);
    shape.rounds = input_.one_burst ? 1 : input_.rounds.value_or(kDefaultRounds);
    const auto fits = [&](int runs, double length) {
      return shape.rounds * RoundSeconds(runs, length) + min_traced_seconds <= budget;
    };
    const bool rounds_may_change = !input_.one_burst && !input_.rounds;
    while (rounds_may_change && shape.rounds > 1 && !fits(MinRuns(shape.launches, shape.rounds), target))
      --shape.rounds;
    shape.min_runs = MinRuns(shape.launches, shape.rounds);
    const bool rounds_are_minimal = shape.rounds == 1 || !rounds_may_change;
    while (shape.min_runs > 1 && rounds_are_minimal && !fits(shape.min_runs, 0)) --shape.min_runs;
    const double length = rounds_are_minimal && !fits(shape.min_runs, target) ? 0 : target;
    shape.round_seconds = RoundSeconds(shape.min_runs, length);
    shape.seconds = input_.fixed_seconds + shape.rounds * shape.round_seconds;
    // The remaining time is for traced runs.
    const double traced_run_seconds = TracedSeconds(shape.launches, 1);
    const double remaining_seconds = budget + input_.fixed_seconds - shape.seconds;
    const int affordable_runs = traced_run_seconds > 0
                                    ? static_cast<int>(std::clamp(remaining_seconds / traced_run_seconds, 1.0,
                                                                  double(protocol::kMaxBurstRuns)))
                                    : protocol::kMaxBurstRuns;
    shape.seconds += TracedSeconds(shape.launches, affordable_runs);
    shape.lower_bound_seconds = input_.fixed_seconds + shape.round_seconds + TracedSeconds(shape.launches, 1);
    const double warmup_seconds = kWarmUpShare * budget / double(std::max<std::size_t>(1, planned_.size()));
    std::size_t planned_index = 0;
    for (const ShapeInput::Experiment& experiment : input_.experiments) {
      shape.runs.emplace_back();
      shape.warmup.push_back(experiment.warmup.value_or(1));
      shape.traced.push_back(static_cast<int>(
          std::min<std::int64_t>(experiment.traced, std::int64_t{affordable_runs} * shape.launches)));
      if (experiment.given_up) continue;
      const PlannedExperiment& planned = planned_[planned_index++];
      if (!experiment.cost) continue;
      shape.runs.back() = RunsInBurst(planned, shape.min_runs, length);
      if (!experiment.warmup)
        shape.warmup.back() = RunsWithin(warmup_seconds, planned.cost.wall_ns, 1, kDefaultWarmup);
    }
    return shape;
  }

 private:
  struct PlannedExperiment {
    RunCost cost;
    int traced = 0;
    double min_length_ns = 0;  // minimum length of a burst
  };

  // The least number of runs in a burst, so that all launches together have kMinUntracedRuns.
  static int MinRuns(int launches, int rounds) {
    const int bursts = launches * rounds;
    return std::max(kMinRunsPerBurst, (kMinUntracedRuns + bursts - 1) / bursts);
  }
  // The number of recorded runs in a burst of `length_ns`, at least `min_runs`. If `length_ns` is 0, exactly
  // `min_runs`.
  static int RunsInBurst(const PlannedExperiment& planned, int min_runs, double length_ns) {
    const double length = length_ns > 0 ? std::max(length_ns, planned.min_length_ns) : 0;
    return RunsWithin(length / 1e9, planned.cost.spacing_ns, min_runs, protocol::kMaxBurstRuns);
  }
  // Seconds for the bursts of one launch.
  double BurstBudget(int launches) const {
    if (!input_.budget_seconds) return std::numeric_limits<double>::infinity();
    return std::max(0.0, *input_.budget_seconds / (launches - input_.launches_done) - input_.fixed_seconds);
  }
  // Seconds of one round of all experiments.
  double RoundSeconds(int min_runs, double length_ns) const {
    double seconds = input_.seconds_between_rounds;
    for (const PlannedExperiment& planned : planned_) {
      const RunCost& cost = planned.cost;
      seconds += cost.request_seconds +
                 (cost.PlannedOpeningRuns() + RunsInBurst(planned, min_runs, length_ns)) * cost.wall_ns / 1e9;
    }
    return seconds;
  }
  // Seconds for the traced runs of one launch: at least one run and at most `max_runs` of each experiment.
  double TracedSeconds(int launches, int max_runs) const {
    double seconds = 0;
    for (const PlannedExperiment& planned : planned_) {
      if (planned.traced == 0) continue;
      seconds +=
          std::clamp(double(planned.traced) / launches, 1.0, double(max_runs)) * planned.cost.wall_ns / 1e9;
    }
    return seconds;
  }
  bool Fits(int launches) const {
    return RoundSeconds(MinRuns(launches, 1), 0) + TracedSeconds(launches, kMinTracedRuns) <=
           BurstBudget(launches);
  }

  const ShapeInput& input_;
  std::vector<PlannedExperiment> planned_;  // without experiments that were given up
};

}  // namespace

LaunchShape FitLaunch(const ShapeInput& input) { return LaunchFitter(input).Run(); }

}  // namespace etprof
