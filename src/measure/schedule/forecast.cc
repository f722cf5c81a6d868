#include "measure/schedule/forecast.h"

#include <algorithm>
#include <cmath>

#include "measure/extra_runs.h"
#include "measure/participants/emulation.h"
#include "measure/schedule/schedule.h"
#include "stats/ratio/stop_rule.h"

namespace etprof {
namespace {

constexpr double kMaxPeaksShare = 0.25;  // maximum share of max_seconds; launches have priority

bool IsTimed(const Config& config, const Unit& unit) {
  return config.experiments[unit.experiment].mode == "timing";
}

// Seconds of one burst of each timed unit, if its runs are short enough for the target length.
double BurstSeconds(const Config& config, const Plan& plan) {
  double seconds = 0;
  for (const Unit& unit : plan.units) {
    if (!IsTimed(config, unit)) continue;
    const Nanoseconds period = config.experiments[unit.experiment].period;
    seconds += static_cast<double>(MinBurstLength(period)) / 1e9;
  }
  return seconds;
}

bool HasStopRule(const Config& config, const Plan& plan, const DeviceProperties& properties) {
  const auto decisive = SelectDecisiveUnits(
      plan.pairs, plan.units.size(), [&](std::size_t u) { return IsTimed(config, plan.units[u]); },
      [&](std::size_t u) { return IsEmulated(config.experiments[plan.units[u].experiment], properties); });
  return !decisive.Empty();
}

}  // namespace

double AllowedSeconds(const Config& config, std::size_t pairs) {
  return config.max_seconds.value_or(kSecondsPerPair * static_cast<double>(std::max<std::size_t>(1, pairs)));
}

Forecast MakeForecast(const Config& config, const Plan& plan, const DeviceProperties& properties) {
  Forecast forecast;
  std::vector<std::size_t> peak_units;
  for (std::size_t u = 0; u < plan.units.size(); ++u) {
    const bool timed = IsTimed(config, plan.units[u]);
    ++(timed ? forecast.timed : forecast.traced);
    if (timed && !IsEmulated(config.experiments[plan.units[u].experiment], properties))
      peak_units.push_back(u);
  }
  if (config.peaks) forecast.peak_measurements = GroupByConditions(config, plan, peak_units).size();
  if (forecast.timed == 0) return forecast;

  if (config.sustained > 0) {
    forecast.kind = Forecast::Kind::kSustained;
    forecast.launches = {1, 1};
    forecast.lower_bound_seconds =
        static_cast<double>(config.sustained) / 1e9 * static_cast<double>(forecast.timed);
    forecast.upper_bound_seconds = forecast.lower_bound_seconds;
    return forecast;
  }
  forecast.burst_seconds = BurstSeconds(config, plan);
  const auto all_bursts_seconds = [&](int launches, int rounds) {
    return launches * rounds * forecast.burst_seconds;
  };
  forecast.rounds = {config.rounds.value_or(1), config.rounds.value_or(kDefaultRounds)};
  if (config.launches && !config.max_seconds) {
    forecast.kind = Forecast::Kind::kLaunches;
    forecast.launches = {*config.launches, *config.launches};
    forecast.rounds.min = forecast.rounds.max;  // only a time limit reduces the rounds
    forecast.lower_bound_seconds = all_bursts_seconds(*config.launches, forecast.rounds.max);
    return forecast;
  }
  const std::vector<int> interim_launches = stats::MakeStopRule().interim_launches;
  std::optional<int> launches = config.launches;
  if (!launches && !HasStopRule(config, plan, properties)) launches = stats::kMinLaunches;
  forecast.kind = launches ? Forecast::Kind::kTimeLimitedLaunches : Forecast::Kind::kStopRule;
  if (!launches) forecast.first_analysis_launches = interim_launches.front();
  forecast.launches = {stats::kMinLaunches, launches.value_or(interim_launches.back())};
  forecast.max_seconds = AllowedSeconds(config, plan.pairs.size());
  forecast.upper_bound_seconds = forecast.max_seconds;
  const double max_peaks = std::floor(kMaxPeaksShare * forecast.max_seconds / kSecondsPerPeaks);
  forecast.peaks_seconds =
      kSecondsPerPeaks * std::min(static_cast<double>(forecast.peak_measurements), max_peaks);
  forecast.lower_bound_seconds =
      std::min(forecast.max_seconds - forecast.peaks_seconds,
               all_bursts_seconds(launches.value_or(interim_launches.front()), forecast.rounds.max));
  return forecast;
}

}  // namespace etprof
