#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"

namespace etprof {

// How a device is at this moment, as far as it tells.
struct DeviceVitals {
  std::optional<double> cpu_celsius, skin_celsius;  // the hottest sensor of its kind
  std::optional<int> battery_percent;
  std::string battery_status;
  std::optional<double> battery_celsius;
  // CPUs that share a clock, its limits in force and what the hardware could do; those that are alike stand
  // together.
  struct Clock {
    std::vector<int> cpus;
    std::optional<std::int64_t> khz, cap_khz,
        hardware_max_khz;  // scaling_cur_freq, scaling_max_freq, cpuinfo_max_freq
    bool Capped() const { return cap_khz && hardware_max_khz && *cap_khz < *hardware_max_khz; }

    static void Describe(auto& v) {
      v("cpus", &Clock::cpus, {.meaning = "that share it, ascending"});
      v("khz", &Clock::khz, {.meaning = "scaling_cur_freq"});
      v("cap_khz", &Clock::cap_khz, {.meaning = "scaling_max_freq"});
      v("hardware_max_khz", &Clock::hardware_max_khz, {.meaning = "cpuinfo_max_freq"});
    }
  };
  std::vector<Clock> clocks;
  // What holds heat back by slowing a CPU down, and whatever else of the kind is at work (a fan).
  struct Cooling {
    std::string type;        // "cpufreq-cpu4"
    std::int64_t state = 0;  // 0: not at work
    std::int64_t highest_state = 0;
    bool of_cpu = false;

    static void Describe(auto& v) {
      v("type", &Cooling::type, {.meaning = "of the kernel's cooling device: \"cpufreq-cpu4\""});
      v("state", &Cooling::state, {.meaning = "0: not at work", .least = kAnyNumber});
      v("highest_state", &Cooling::highest_state, {.meaning = "at which it cools most", .least = kAnyNumber});
    }
  };
  std::vector<Cooling> cooling;
  // Android's: 0 none, 1 light, 2 moderate, 3 severe, 4 critical, 5 emergency, 6 shutdown.
  std::optional<int> thermal_status;
  // The zones and cooling devices of /sys that the above is from: words of a request of VitalsServer.
  std::string sources;

  // The hotter of CPU and skin; absent: no sensor can be read.
  std::optional<double> Hottest() const;
  // What a temperature limit is compared with: the skin's temperature, by which Android sets its thermal
  // status, or the CPUs' if there is no skin sensor. A CPU sensor changes by many degrees within a second of
  // load.
  std::optional<double> LimitedCelsius() const { return skin_celsius ? skin_celsius : cpu_celsius; }
  // "46.1 °C > 45 °C"; empty: LimitedCelsius() is not above the limit, or not known.
  std::string AboveLimitText(double limit_celsius) const;

  static void Describe(auto& v) {
    v("cpu_celsius", &DeviceVitals::cpu_celsius, {.meaning = "the hottest sensor"});
    v("skin_celsius", &DeviceVitals::skin_celsius, {.meaning = "the hottest sensor"});
    v("battery_percent", &DeviceVitals::battery_percent,
      {.meaning = "charge; null: no battery, or it does not say", .most = 100});
    v("battery_status", &DeviceVitals::battery_status,
      {.meaning = "\"Charging\", \"Discharging\", \"Full\", ...; empty: no battery, or it does not say"});
    v("battery_celsius", &DeviceVitals::battery_celsius, {.meaning = "of the battery"});
    v("thermal_status", &DeviceVitals::thermal_status, {.meaning = "Android's: 0 none to 6 shutdown"});
    v("clocks", &DeviceVitals::clocks, {.meaning = "CPUs that share a clock stand together"});
    v("cooling", &DeviceVitals::cooling, {.meaning = "those of CPUs, and others that are at work"});
  }
};
// "none", "light", ..., as Android names it; the number where it has no name for it.
std::string ThermalStatusName(int status);

// A script for a POSIX shell that prints Linux's clocks, thermal zones, cooling devices and power supplies
// (below $ETPROF_SYSFS_ROOT, where that is set), and Android's own view of them: many phones let a shell read
// less of /sys.
std::string VitalsScript();
// The same as a server: for every line of its stdin it prints that and kVitalsEnd. The line says what beside
// the clocks and the battery: "all", or the zones and cooling devices by their numbers ("z3 z7 c0"), which
// takes the shell no other process.
std::string VitalsServer();
inline constexpr const char* kVitalsEnd = "etprof-vitals-end";

// What either script printed.
DeviceVitals ParseVitals(const std::string& printed);

}  // namespace etprof
