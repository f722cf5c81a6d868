#include "measure/conditions/quiet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace etprof {
namespace {

constexpr double kQuietLookSeconds = 1;  // between two looks
constexpr int kQuietLooks = 3;           // in a row, after it was not quiet

// Empty: it is.
std::string WhyNotQuiet(const QuietOptions& options, const std::optional<OtherLoad>& load,
                        const std::optional<DeviceVitals>& vitals) {
  std::vector<std::string> why;
  if (load && Matters(*load, options.threads)) why.push_back(LoadText(*load));
  if (vitals) {
    const std::string too_hot = options.max_celsius ? vitals->AboveLimitText(*options.max_celsius) : "";
    if (!too_hot.empty()) why.push_back(too_hot);
    if (vitals->thermal_status.value_or(0) > 0)
      why.push_back("thermal status " + ThermalStatusName(*vitals->thermal_status));
    for (const DeviceVitals::Cooling& cooling : vitals->cooling) {
      if (!cooling.of_cpu || cooling.state <= 0) continue;
      why.push_back(
          fmt::format("{} slows CPUs down ({} of {})", cooling.type, cooling.state, cooling.highest_state));
      break;  // one of a phone's eight says it
    }
  }
  return fmt::format("{}", fmt::join(why, ", "));
}

}  // namespace

Quiet WaitUntilQuiet(const QuietOptions& options) {
  Quiet found;
  const double start = options.now();
  bool waits = false;
  for (int quiet = 0;;) {
    found.load = options.load();
    if (options.wait_seconds <= 0) return found;
    const std::string why = WhyNotQuiet(options, found.load, options.vitals());
    quiet = why.empty() ? quiet + 1 : 0;
    if (quiet >= (waits ? kQuietLooks : 1) || (options.interrupted && options.interrupted())) break;
    if (options.now() - start >= options.wait_seconds) {
      if (why.empty()) break;
      found.warning = fmt::format("the device was not quiet after {:g} min of waiting: {}",
                                  options.wait_seconds / 60, why);
      break;
    }
    waits = true;
    if (!why.empty() && options.progress != nullptr)
      options.progress->Waiting("waiting for a quiet and cool device: " + why);
    options.sleep(kQuietLookSeconds);
  }
  if (waits) found.waited_seconds = options.now() - start;
  return found;
}

}  // namespace etprof
