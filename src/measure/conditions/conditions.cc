#include "measure/conditions/conditions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/process/cpus.h"
#include "device/conditions/clusters.h"

namespace etprof {
namespace {

constexpr double kReadIntervalSeconds = 1;  // between two readings of the temperature or the load

bool UsesCpus(const DeviceVitals::Clock& clock, const std::vector<int>& cpus) {
  return cpus.empty() || clock.cpus.empty() || std::ranges::any_of(cpus, [&](int cpu) {
           return std::ranges::find(clock.cpus, cpu) != clock.cpus.end();
         });
}

bool IsCapped(const DeviceVitals& vitals, const std::vector<int>& cpus) {
  bool has_clock_limits = false;
  for (const DeviceVitals::Clock& clock : vitals.clocks) {
    if (!UsesCpus(clock, cpus)) continue;
    if (clock.IsCapped()) return true;
    has_clock_limits = has_clock_limits || (clock.cap_khz && clock.hardware_max_khz);
  }
  // Without clock data, an active cooling device of the CPUs shows that they are slowed down.
  return !has_clock_limits && std::ranges::any_of(vitals.cooling, [](const auto& cooling) {
    return cooling.cools_cpu && cooling.state > 0;
  });
}

std::string CelsiusText(double celsius) { return fmt::format("{:.1f} °C", celsius); }

constexpr int kQuietReadings = 3;  // quiet readings in a row that end the waiting

// Returns the reason why the device is not quiet; empty: the device is quiet.
std::string NotQuietReason(const QuietOptions& options, const std::optional<OtherLoad>& load,
                           const std::optional<DeviceVitals>& vitals) {
  std::vector<std::string> reasons;
  if (load && IsSignificantLoad(*load, options.threads)) reasons.push_back(LoadText(*load));
  if (vitals) {
    const std::string too_hot_reason =
        options.max_celsius ? vitals->AboveLimitText(*options.max_celsius) : "";
    if (!too_hot_reason.empty()) reasons.push_back(too_hot_reason);
    if (vitals->thermal_status.value_or(0) > 0)
      reasons.push_back("thermal status " + ThermalStatusName(*vitals->thermal_status));
    for (const DeviceVitals::Cooling& cooling : vitals->cooling) {
      if (!cooling.cools_cpu || cooling.state <= 0) continue;
      reasons.push_back(
          fmt::format("{} slows CPUs down ({} of {})", cooling.type, cooling.state, cooling.highest_state));
      break;  // phones have about eight cooling devices; the first suffices as a reason
    }
  }
  return fmt::format("{}", fmt::join(reasons, ", "));
}

}  // namespace

std::vector<int> PinnedCpus(const Config& config, const DeviceProperties& device) {
  std::set<int> used;
  bool any_unpinned = false;
  for (const ExperimentConfig& experiment : config.experiments) {
    if (experiment.cpu_affinity.empty()) {
      any_unpinned = true;
      continue;
    }
    for (const int cpu : ResolveCpus(experiment.cpu_affinity, device)) used.insert(cpu);
  }
  return any_unpinned ? std::vector<int>() : std::vector<int>(used.begin(), used.end());
}

std::optional<DeviceVitals> ConditionsWatch::Read(bool all) {
  all = all || (only_services_report_temperature_ && options_.max_celsius);
  std::optional<DeviceVitals> vitals = read_(all);
  if (vitals && all) {
    thermal_status_ = vitals->thermal_status.value_or(0);
    only_services_report_temperature_ =
        (vitals->HottestCelsius() && vitals->sources.find('z') == std::string::npos) ||
        (!vitals->skin_celsius && thermal_status_ > 0);
  }
  return vitals;
}

// Returns the reason why the device is too hot; empty: the device is cool enough.
std::string ConditionsWatch::TooHotReason(const DeviceVitals& vitals) const {
  if (std::string above = vitals.AboveLimitText(*options_.max_celsius); !above.empty()) return above;
  // If there is a skin sensor, it alone decides, so that the user's limit may be above Android's "light"
  // status.
  const bool status_decides = !vitals.skin_celsius && thermal_status_ > 0;
  return status_decides ? "thermal status " + ThermalStatusName(thermal_status_) : "";
}

// Waits while the device is too hot, and updates `vitals`. Returns the seconds of waiting.
double ConditionsWatch::WaitUntilCool(std::optional<DeviceVitals>& vitals) {
  const double start = options_.now();
  int readings = 0;
  for (std::string reason; !gave_up_ && !options_.interrupted();) {
    reason = vitals ? TooHotReason(*vitals) : "";
    if (reason.empty()) break;
    const double waited = options_.now() - start;
    const double total = waited_seconds_ + waited;
    if (waited >= options_.wait_seconds || total >= kMaxWaits * options_.wait_seconds) {
      gave_up_ = true;
      warnings_.push_back(fmt::format(
          "the device does not stay cool: {} after waiting {:.0f} s, {:.0f} s in total; the measurement "
          "continued without waiting",
          reason, waited, total));
      if (options_.progress != nullptr) options_.progress->Message(warnings_.back());
      break;
    }
    if (options_.progress != nullptr) {
      options_.progress->Waiting(
          fmt::format("waiting for the device to cool: {} ({:.0f} s in total)", reason, total));
    }
    ++readings;
    options_.sleep(kReadIntervalSeconds);
    vitals = Read(false);
  }
  if (readings > 0 && thermal_status_ > 0) vitals = Read(true);  // the status was read before the waiting
  const double waited = readings == 0 ? 0 : options_.now() - start;
  waited_seconds_ += waited;
  return waited;
}

std::optional<RoundConditions> ConditionsWatch::BeforeRound(int launch, int round, int order) {
  std::optional<DeviceVitals> vitals = Read(std::exchange(launch_, launch) != launch);
  if (!vitals) return std::nullopt;
  RoundConditions conditions;
  conditions.launch = launch;
  conditions.round = round;
  conditions.order = order;
  if (options_.max_celsius) {
    if (!vitals->CelsiusForLimit() && !std::exchange(warned_no_sensor_, true)) {
      warnings_.push_back(
          "no sensor of the CPUs' or the skin's temperature can be read: max_temp has no effect");
      if (options_.progress != nullptr) options_.progress->Message(warnings_.back());
    }
    conditions.waited_seconds = WaitUntilCool(vitals);
    if (!vitals) return std::nullopt;
  }
  conditions.hot = thermal_status_ > 0 || (options_.max_celsius && !TooHotReason(*vitals).empty());
  conditions.capped = IsCapped(*vitals, cpus_);
  conditions.vitals = std::move(*vitals);
  return conditions;
}

QuietResult WaitUntilQuiet(const QuietOptions& options) {
  QuietResult result;
  const double start = options.now();
  bool has_waited = false;
  for (int quiet_readings = 0;;) {
    result.load = options.load();
    if (options.wait_seconds <= 0) return result;
    const std::string reason = NotQuietReason(options, result.load, options.vitals());
    quiet_readings = reason.empty() ? quiet_readings + 1 : 0;
    if (quiet_readings >= (has_waited ? kQuietReadings : 1) || options.interrupted()) break;
    if (options.now() - start >= options.wait_seconds) {
      if (reason.empty()) break;
      result.warning = fmt::format("the device was not quiet after {:g} min of waiting: {}",
                                   options.wait_seconds / 60, reason);
      break;
    }
    has_waited = true;
    if (!reason.empty() && options.progress != nullptr)
      options.progress->Waiting("waiting for a quiet and cool device: " + reason);
    options.sleep(kReadIntervalSeconds);
  }
  if (has_waited) result.waited_seconds = options.now() - start;
  return result;
}

std::vector<std::string> ConditionsWarnings(const RunData& run) {
  std::map<int, std::int64_t> hardware_max;
  if (run.device) {
    for (const DeviceProperties::Cpu& cpu : run.device->cpus) {
      if (cpu.hardware_max_khz) hardware_max[cpu.id] = *cpu.hardware_max_khz;
    }
  }
  // Rounds of launches (or processes, if whole processes alternate), each counted once.
  std::set<std::pair<int, int>> rounds, capped, hot;
  double lowest_share = 1;
  std::string lowest;
  const auto update_lowest = [&](const std::string& cpus, std::int64_t cap, std::int64_t maximum) {
    const double share = double(cap) / double(maximum);
    if (share >= lowest_share) return;
    lowest_share = share;
    lowest = fmt::format("CPU {} at {:.2f} of {:.2f} GHz", cpus, double(cap) / 1e6, double(maximum) / 1e6);
  };
  for (const ExperimentData& data : run.experiments) {
    for (const Launch& launch : data.launches) {
      for (const Burst& burst : launch.bursts) {
        rounds.emplace(launch.index, burst.round);
        if (!burst.frequency_cap_khz || !burst.cpu_end) continue;
        const auto maximum = hardware_max.find(*burst.cpu_end);
        if (maximum == hardware_max.end() || *burst.frequency_cap_khz >= maximum->second) continue;
        capped.emplace(launch.index, burst.round);
        update_lowest(std::to_string(*burst.cpu_end), *burst.frequency_cap_khz, maximum->second);
      }
    }
  }
  int worst_status = 0;
  std::optional<double> hottest;
  for (const RoundConditions& conditions : run.conditions) {
    const std::pair round(conditions.launch, conditions.round);
    if (!rounds.contains(round)) continue;  // no burst was measured in this round
    if (conditions.capped) {
      capped.insert(round);
      for (const DeviceVitals::Clock& clock : conditions.vitals.clocks) {
        if (clock.IsCapped()) update_lowest(CpusText(clock.cpus), *clock.cap_khz, *clock.hardware_max_khz);
      }
    }
    if (!conditions.hot) continue;
    hot.insert(round);
    worst_status = std::max(worst_status, conditions.vitals.thermal_status.value_or(0));
    if (const auto celsius = conditions.vitals.HottestCelsius())
      hottest = std::max(hottest.value_or(*celsius), *celsius);
  }
  std::vector<std::string> warnings;
  if (!capped.empty()) {
    warnings.push_back(fmt::format("{} of {} rounds ran with capped clocks{}", capped.size(), rounds.size(),
                                   lowest.empty() ? "" : " (" + lowest + ")"));
  }
  if (!hot.empty()) {
    std::string heat_text = hottest ? "up to " + CelsiusText(*hottest) : "";
    if (worst_status > 0)
      heat_text += (heat_text.empty() ? "" : ", ") + ("thermal status " + ThermalStatusName(worst_status));
    warnings.push_back(fmt::format("{} of {} rounds ran hot{}", hot.size(), rounds.size(),
                                   heat_text.empty() ? "" : " (" + heat_text + ")"));
  }
  if (run.schedule.quiet_seconds.value_or(0) >= 1) {
    warnings.push_back(
        fmt::format("{:.0f} s were waited for a quiet and cool device", *run.schedule.quiet_seconds));
  }
  if (run.schedule.waited_seconds >= 1) {
    warnings.push_back(
        fmt::format("{:.0f} s were waited for the device to cool", run.schedule.waited_seconds));
  }
  return warnings;
}

}  // namespace etprof
