#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/views.h"
#include "report/report.h"
#include "report/run/run_classes.h"
#include "stats/distribution.h"
#include "stats/ratio/launches.h"
#include "stats/stability.h"

namespace etprof {
namespace {

using finding::ConditionChange;

// The medians of bursts in order of time (launch by launch, since a device's clock restarts with the device),
// with their conditions. If there are no bursts, as in a trace without a manifest, the values are the times
// of the runs after the warm-up.
struct Series {
  std::vector<double> ns;
  bool uses_bursts = true;
  std::vector<std::size_t> number;  // number of each value in its file, counted from 1

  // The burst and the round of each value; the round is null if not known. Empty for a trace without a
  // manifest.
  std::vector<std::pair<const Burst*, const RoundConditions*>> bursts;
  std::vector<std::size_t> launch_starts;  // the first value of each launch; empty if `uses_bursts` is false

  void Push(Nanoseconds time, std::size_t index) {
    ns.push_back(static_cast<double>(time));
    number.push_back(index + 1);
  }
};
Series CollectSeries(const RunData& run, const ReportExperiment& experiment) {
  Series series;
  const ExperimentData& data = run.experiments[experiment.index];
  for (const Launch& launch : data.launches) {
    if (launch.status == Launch::Status::kFailed) continue;
    const auto earlier_bursts = static_cast<std::ptrdiff_t>(series.bursts.size());
    for (const Burst& burst : launch.bursts) {
      if (burst.Median()) series.bursts.emplace_back(&burst, FindConditions(run, launch.index, burst));
    }
    if (std::ssize(series.bursts) > earlier_bursts)
      series.launch_starts.push_back(static_cast<std::size_t>(earlier_bursts));
    std::ranges::stable_sort(series.bursts.begin() + earlier_bursts, series.bursts.end(), {},
                             [](const auto& burst) { return burst.first->start; });
  }
  for (const auto& [burst, round] : series.bursts) series.Push(*burst->Median(), series.ns.size());
  if (series.ns.size() == 1 && series.bursts[0].first->round < 0) {
    series = {};
    series.uses_bursts = false;
    for (const Launch& launch : data.launches) {
      for (const Burst& burst : launch.bursts) {
        const std::size_t unrecorded_runs = launch.warmup.size() + (launch.first_run ? 1 : 0);
        for (std::size_t i = 0; i < burst.recorded.size(); ++i)
          series.Push(burst.recorded[i], unrecorded_runs + i);
      }
    }
  } else if (series.ns.empty() && experiment.profile) {
    series.uses_bursts = false;
    for (const std::size_t steady : experiment.profile->RunsInPhase(Phase::kSteady))
      series.Push(experiment.profile->runs[steady].total, steady);
  }
  return series;
}

bool HaveClocksChanged(const finding::ConditionChanges& changes) {
  using Condition = ConditionChange::Condition;
  return std::ranges::any_of(changes, [](const ConditionChange& change) {
    return change.condition == Condition::kClock || change.condition == Condition::kClockCap ||
           change.condition == Condition::kCappedRounds;
  });
}

// The values of each launch.
std::vector<std::span<const double>> SplitLaunches(const Series& series) {
  std::vector<std::span<const double>> launches;
  for (std::size_t i = 0; i < series.launch_starts.size(); ++i) {
    const std::size_t end =
        i + 1 < series.launch_starts.size() ? series.launch_starts[i + 1] : series.ns.size();
    launches.push_back(std::span(series.ns).subspan(series.launch_starts[i], end - series.launch_starts[i]));
  }
  return launches;
}

// Returns whether the step is where a launch begins, and launches in a random order would have such a step
// with a probability of more than kTrendLevel.
bool MayBeStepOfProcesses(const Series& series, std::size_t index) {
  double orders = 1;  // the number of ways to choose the launches before the step
  for (std::size_t before = 1; before < series.launch_starts.size(); ++before) {
    orders *= static_cast<double>(series.launch_starts.size() - before + 1) / static_cast<double>(before);
    const std::size_t start = series.launch_starts[before];
    if (std::max(start, index) - std::min(start, index) <= 1) return orders * kTrendLevel < 1;
  }
  return false;
}

// Returns whether the launches as a whole, whose order is random, show no trend.
bool MayBeTrendOfProcesses(const Series& series) {
  const std::vector<double> medians =
      MapEach(SplitLaunches(series), [](std::span<const double> launch) { return *stats::Median(launch); });
  return medians.size() >= stats::kMinLaunches && !(stats::KendallP(medians) < kTrendLevel);
}

// Returns whether (almost) no launch has values of both levels.
bool AreLevelsOfProcesses(const Series& series, double middle) {
  std::ptrdiff_t misplaced = 0;
  for (const std::span<const double> launch : SplitLaunches(series)) {
    const auto high = std::ranges::count_if(launch, [&](double ns) { return ns > middle; });
    misplaced += std::min(high, std::ssize(launch) - high);
  }
  return series.launch_starts.size() >= stats::kMinLaunches && 20 * misplaced <= std::ssize(series.ns);
}

// Finds conditions whose means over two sets of bursts differ. `is_second(i)`: whether burst i is in the
// second set.
finding::ConditionChanges FindConditionChanges(const Series& series, const auto& is_second) {
  using Condition = ConditionChange::Condition;
  finding::ConditionChanges changes;
  const auto compare = [&](Condition condition, const auto& get_value) {
    double sum[2] = {0, 0};
    double n[2] = {0, 0};
    for (std::size_t i = 0; i < series.bursts.size(); ++i) {
      const auto value = get_value(*series.bursts[i].first, series.bursts[i].second);
      if (!value) continue;
      sum[is_second(i) ? 1 : 0] += static_cast<double>(*value);
      n[is_second(i) ? 1 : 0] += 1;
    }
    if (n[0] == 0 || n[1] == 0) return;
    const double a = sum[0] / n[0];
    const double b = sum[1] / n[1];
    if (std::fabs(a - b) > 0.01 * std::max(std::fabs(a), std::fabs(b))) changes.push_back({condition, a, b});
  };
  const auto ghz = [](const auto& khz) {
    return khz ? std::optional(static_cast<double>(*khz) * 1e-6) : std::nullopt;
  };
  compare(Condition::kClock, [&](const Burst& b, auto) { return ghz(b.frequency_khz); });
  compare(Condition::kClockCap, [&](const Burst& b, auto) { return ghz(b.frequency_cap_khz); });
  compare(Condition::kTemperature, [](const Burst& b, auto) { return b.temperature_celsius; });
  compare(Condition::kLoad, [](const Burst& b, auto) { return b.load_average; });
  // RoundConditions are read before the round, the conditions of a Burst by the worker during the round.
  const auto compare_round = [&](Condition condition, const auto& get_value) {
    compare(condition, [&](const Burst&, const RoundConditions* round) -> std::optional<double> {
      return round == nullptr ? std::nullopt : get_value(*round);
    });
  };
  compare_round(Condition::kCappedRounds,
                [](const RoundConditions& r) { return std::optional<double>(r.capped ? 1 : 0); });
  compare_round(Condition::kSkin, [](const RoundConditions& r) { return r.vitals.skin_celsius; });
  compare_round(Condition::kCpu, [](const RoundConditions& r) { return r.vitals.cpu_celsius; });
  return changes;
}

// Finds the operators that changed between the traced runs before and after `cut`, a fraction of the runs in
// order of time.
finding::ConfinedOperators FindOperatorsConfinedTo(const ReportExperiment& experiment, double cut) {
  if (!experiment.profile) return {};
  const std::vector<std::size_t> runs = experiment.profile->SteadyOrCommonRuns();
  const auto first = static_cast<std::size_t>(cut * static_cast<double>(runs.size()));
  std::vector<bool> is_after_cut(runs.size());
  std::fill(is_after_cut.begin() + static_cast<std::ptrdiff_t>(std::min(first, runs.size())),
            is_after_cut.end(), true);
  return FindConfinedOperators(*experiment.profile, runs, is_after_cut);
}

// Makes the finding on a step of the latency. `impact_ns` is the height of the step times the share of runs
// on its slower side.
Finding MakeStepFinding(const Series& series, const ReportExperiment& experiment, const stats::Step& step) {
  const auto is_after_step = [&](std::size_t i) { return i >= step.index; };
  const double share =
      static_cast<double>(series.ns.size() - step.index) / static_cast<double>(series.ns.size());
  const auto conditions = FindConditionChanges(series, is_after_step);
  return {
      finding::LatencyStep{series.uses_bursts, series.number[step.index], series.number.back(), step.before,
                           step.after, conditions, FindOperatorsConfinedTo(experiment, 1 - share),
                           !HaveClocksChanged(conditions) && MayBeStepOfProcesses(series, step.index)},
      std::fabs(step.after - step.before) * (step.after > step.before ? share : 1 - share)};
}

std::vector<Finding> FindTrendAndLevels(const Series& series, const ReportExperiment& experiment) {
  std::vector<Finding> found;
  constexpr double kMinTrend = 0.03;
  if (const auto trend = stats::FindTrend(series.ns);
      trend && trend->p_value < kTrendLevel && std::fabs(trend->relative_change) >= kMinTrend) {
    const auto is_in_second_half = [&](std::size_t i) { return 2 * i >= series.ns.size(); };
    const auto conditions = FindConditionChanges(series, is_in_second_half);
    found.push_back({finding::LatencyTrend{series.uses_bursts, series.ns.size(), trend->relative_change,
                                           conditions, FindOperatorsConfinedTo(experiment, 0.5),
                                           !HaveClocksChanged(conditions) && MayBeTrendOfProcesses(series)},
                     std::fabs(trend->relative_change) * *stats::Median(series.ns)});
  }
  if (const auto levels = stats::FindTwoLevels(series.ns)) {
    const double middle = (levels->low + levels->high) / 2;
    const auto slow = [&](std::size_t i) { return series.ns[i] > middle; };
    const auto conditions = FindConditionChanges(series, slow);
    found.push_back(
        {finding::LatencyLevels{series.uses_bursts, levels->low, levels->high, levels->share_high, conditions,
                                !HaveClocksChanged(conditions) && AreLevelsOfProcesses(series, middle)},
         (levels->high - levels->low) * levels->share_high});
  }
  return found;
}

}  // namespace

std::vector<Finding> FindNoise(const RunData& run, const ReportExperiment& experiment) {
  const Series series = CollectSeries(run, experiment);
  if (const auto step = stats::FindStep(series.ns)) return {MakeStepFinding(series, experiment, *step)};
  return FindTrendAndLevels(series, experiment);
}

}  // namespace etprof
