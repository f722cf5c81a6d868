#include "report/findings/noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/findings/insight_words.h"
#include "stats/stability.h"

namespace etprof {
namespace {

// Burst medians in the order of time; the runs after the warm-up of a bare trace, and of a single process
// that ran without bursts. With the conditions that stand beside them.
struct Series {
  std::vector<double> ns;
  const char* unit = "burst";
  std::vector<std::size_t> number;             // of each from 1 on, as its file counts
  std::vector<const Burst*> bursts;            // index by index of `ns`; empty of a bare trace
  std::vector<const RoundConditions*> rounds;  // likewise; null: not known

  void Push(Nanoseconds time, std::size_t before) {
    ns.push_back(static_cast<double>(time));
    number.push_back(before + 1);
  }
};
Series SeriesOf(const RunData& run, const ReportExperiment& experiment) {
  Series series;
  std::vector<std::pair<const Burst*, const RoundConditions*>> in_time;
  const ExperimentData& data = run.experiments[experiment.index];
  for (const Launch& launch : data.launches) {
    if (launch.status == Launch::Status::kFailed) continue;
    for (const Burst& burst : launch.bursts) {
      if (burst.Median()) in_time.emplace_back(&burst, ConditionsOf(run, launch.index, burst));
    }
  }
  std::stable_sort(in_time.begin(), in_time.end(),
                   [](const auto& a, const auto& b) { return a.first->start < b.first->start; });
  for (const auto& [burst, round] : in_time) {
    series.bursts.push_back(burst);
    series.rounds.push_back(round);
  }
  for (const Burst* burst : series.bursts) series.Push(*burst->Median(), series.ns.size());
  if (series.ns.size() == 1 && series.bursts[0]->round < 0) {
    series = {};
    series.unit = "run";
    for (const Launch& launch : data.launches) {
      for (const Burst& burst : launch.bursts) {
        const std::size_t before = launch.warmup.size() + (launch.first_run ? 1 : 0);
        for (std::size_t i = 0; i < burst.recorded.size(); ++i) series.Push(burst.recorded[i], before + i);
      }
    }
  } else if (series.ns.empty() && experiment.profile) {
    series.unit = "run";
    for (const std::size_t steady : experiment.profile->RunsOf(Phase::kSteady))
      series.Push(experiment.profile->runs[steady].total, steady);
  }
  return series;
}

// "CPU clock 2.40 against 1.80 GHz": the means of a condition over two sets of bursts, where they differ.
template <typename ValueOf>
void CompareCondition(const Series& series, const std::vector<bool>& second, const char* name,
                      const char* unit, double scale, const ValueOf& value_of,
                      std::vector<std::string>& evidence) {
  double sum[2] = {0, 0};
  double n[2] = {0, 0};
  for (std::size_t i = 0; i < series.bursts.size(); ++i) {
    const auto value = value_of(i);
    if (!value) continue;
    sum[second[i] ? 1 : 0] += static_cast<double>(*value) * scale;
    n[second[i] ? 1 : 0] += 1;
  }
  if (n[0] == 0 || n[1] == 0) return;
  const double a = sum[0] / n[0];
  const double b = sum[1] / n[1];
  if (std::fabs(a - b) > 0.01 * std::max(std::fabs(a), std::fabs(b)))
    evidence.push_back(fmt::format("{}: {:.2f} {} against {:.2f} {}", name, a, unit, b, unit));
}
std::vector<std::string> Conditions(const Series& series, const std::vector<bool>& second) {
  std::vector<std::string> evidence;
  const auto of_burst = [&](const char* name, const char* unit, double scale, auto value_of) {
    CompareCondition(
        series, second, name, unit, scale, [&](std::size_t i) { return value_of(*series.bursts[i]); },
        evidence);
  };
  // Read before the round, in which a worker reads what is above.
  const auto of_round = [&](const char* name, const char* unit, auto value_of) {
    CompareCondition(
        series, second, name, unit, 1,
        [&](std::size_t i) -> std::optional<double> {
          return series.rounds[i] == nullptr ? std::nullopt : value_of(*series.rounds[i]);
        },
        evidence);
  };
  of_burst("CPU clock", "GHz", 1e-6, [](const Burst& b) { return b.frequency_khz; });
  of_burst("clock's cap", "GHz", 1e-6, [](const Burst& b) { return b.frequency_cap_khz; });
  of_burst("temperature", "degrees C", 1, [](const Burst& b) { return b.temperature_celsius; });
  of_burst("load", "(1 minute)", 1, [](const Burst& b) { return b.load_average; });
  of_round("rounds with capped clocks", "of 1",
           [](const RoundConditions& r) { return std::optional<double>(r.capped ? 1 : 0); });
  of_round("skin", "degrees C", [](const RoundConditions& r) { return r.vitals.skin_celsius; });
  of_round("CPU", "degrees C", [](const RoundConditions& r) { return r.vitals.cpu_celsius; });
  return evidence;
}

const char* CauseOf(bool slower) {
  return slower ? "the processor may be throttling, or something else began to run"
                : "the processor was not at its clock yet, or something else ended";
}

NoiseFinding OfStep(const Series& series, const stats::Step& step) {
  std::vector<bool> late(series.ns.size());
  for (std::size_t i = step.index; i < late.size(); ++i) late[i] = true;
  const double change = step.after / step.before - 1;
  const double share =
      static_cast<double>(series.ns.size() - step.index) / static_cast<double>(series.ns.size());
  return {std::fabs(step.after - step.before) * (change > 0 ? share : 1 - share),
          fmt::format("Latency is {} {} from {} {} of {} on, {} after {}: {}.", Percent(std::fabs(change)),
                      change > 0 ? "higher" : "lower", series.unit, series.number[step.index],
                      series.number.back(), Ms(step.after), Ms(step.before), CauseOf(change > 0)),
          Conditions(series, late),
          "the cut in time that leaves the least variance, said where Ashman's D is 4 or more and the change "
          "is 3 % or more; at stake: (high - low) x share of high"};
}

std::vector<NoiseFinding> OfTrendAndLevels(const Series& series) {
  std::vector<NoiseFinding> found;
  constexpr double kTrendLevel = 0.01;
  constexpr double kTrendWorthSaying = 0.03;
  if (const auto trend = stats::FindTrend(series.ns);
      trend && trend->p_value < kTrendLevel && std::fabs(trend->relative_change) >= kTrendWorthSaying) {
    const double median = *stats::Median(series.ns);
    std::vector<bool> late(series.ns.size());
    for (std::size_t i = 0; i < late.size(); ++i) late[i] = 2 * i >= late.size();
    const bool slower = trend->relative_change > 0;
    found.push_back(
        {std::fabs(trend->relative_change) * median,
         fmt::format("Latency {} by {} while it was measured ({} {}s): {}.", slower ? "rose" : "fell",
                     Percent(std::fabs(trend->relative_change)), series.ns.size(), series.unit,
                     CauseOf(slower)),
         Conditions(series, late),
         "Theil's slope over 20 stretches in the order of time, said where Kendall's p < 0.01 and the "
         "change is 3 % or more"});
  }
  if (const auto levels = stats::FindTwoLevels(series.ns)) {
    std::vector<bool> slow(series.ns.size());
    for (std::size_t i = 0; i < slow.size(); ++i) slow[i] = series.ns[i] > (levels->low + levels->high) / 2;
    found.push_back(
        {(levels->high - levels->low) * levels->share_high,
         fmt::format("Latency has two levels: {} in {} of the {}s, {} in the others, as of a processor with "
                     "two clocks or one shared with others.",
                     Ms(levels->low), Percent(1 - levels->share_high), series.unit, Ms(levels->high)),
         Conditions(series, slow),
         "Otsu's split, said where Ashman's D is 5 or more; at stake: (high - low) x share of high"});
  }
  return found;
}

}  // namespace

std::vector<NoiseFinding> FindNoise(const RunData& run, const ReportExperiment& experiment) {
  const Series series = SeriesOf(run, experiment);
  if (const auto step = stats::FindStep(series.ns)) return {OfStep(series, *step)};
  return OfTrendAndLevels(series);
}

}  // namespace etprof
