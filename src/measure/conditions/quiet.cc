#include "measure/conditions/quiet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace etprof {
namespace {

constexpr double kSecondsBetweenReadings = 1;
constexpr int kQuietReadings = 3;  // quiet readings in a row that end the waiting

// Returns why the device is not quiet; empty: it is.
std::string NotQuietReason(const QuietOptions& options, const std::optional<OtherLoad>& load,
                           const std::optional<DeviceVitals>& vitals) {
  std::vector<std::string> reasons;
  if (load && IsSignificantLoad(*load, options.threads)) reasons.push_back(LoadText(*load));
  if (vitals) {
    const std::string too_hot = options.max_celsius ? vitals->AboveLimitText(*options.max_celsius) : "";
    if (!too_hot.empty()) reasons.push_back(too_hot);
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

QuietResult WaitUntilQuiet(const QuietOptions& options) {
  QuietResult result;
  const double start = options.now();
  bool has_waited = false;
  for (int quiet_readings = 0;;) {
    result.load = options.load();
    if (options.wait_seconds <= 0) return result;
    const std::string reason = NotQuietReason(options, result.load, options.vitals());
    quiet_readings = reason.empty() ? quiet_readings + 1 : 0;
    if (quiet_readings >= (has_waited ? kQuietReadings : 1) || (options.interrupted && options.interrupted()))
      break;
    if (options.now() - start >= options.wait_seconds) {
      if (reason.empty()) break;
      result.warning = fmt::format("the device was not quiet after {:g} min of waiting: {}",
                                   options.wait_seconds / 60, reason);
      break;
    }
    has_waited = true;
    if (!reason.empty() && options.progress != nullptr)
      options.progress->Waiting("waiting for a quiet and cool device: " + reason);
    options.sleep(kSecondsBetweenReadings);
  }
  if (has_waited) result.waited_seconds = options.now() - start;
  return result;
}

}  // namespace etprof
