#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "device/device.h"

namespace etprof {

// The temperatures, battery, clocks, and cooling of a device at one moment. Absent or empty: not known.
struct DeviceVitals {
  std::optional<double> cpu_celsius, skin_celsius;  // the hottest sensor of its kind
  std::optional<int> battery_percent;
  std::string battery_status;
  std::optional<double> battery_celsius;
  // The current frequency and limits of CPUs that share a clock. Clocks with equal values are merged.
  struct Clock {
    std::vector<int> cpus;
    std::optional<std::int64_t> khz;               // scaling_cur_freq
    std::optional<std::int64_t> cap_khz;           // scaling_max_freq: the limit in force
    std::optional<std::int64_t> hardware_max_khz;  // cpuinfo_max_freq
    bool IsCapped() const { return cap_khz && hardware_max_khz && *cap_khz < *hardware_max_khz; }

    static void Describe(auto& v) {
      v("cpus", &Clock::cpus, {.meaning = "that share it, ascending"});
      v("khz", &Clock::khz, {.meaning = "scaling_cur_freq"});
      v("cap_khz", &Clock::cap_khz, {.meaning = "scaling_max_freq"});
      v("hardware_max_khz", &Clock::hardware_max_khz, {.meaning = "cpuinfo_max_freq"});
    }
  };
  std::vector<Clock> clocks;
  // Cooling devices that slow CPUs down, and other active cooling devices (a fan).
  struct Cooling {
    std::string type;        // "cpufreq-cpu4"
    std::int64_t state = 0;  // 0: inactive
    std::int64_t highest_state = 0;
    bool cools_cpu = false;

    static void Describe(auto& v) {
      v("type", &Cooling::type, {.meaning = "of the kernel's cooling device: \"cpufreq-cpu4\""});
      v("state", &Cooling::state, {.meaning = "0: not at work", .min = kNoMinimum});
      v("highest_state", &Cooling::highest_state, {.meaning = "at which it cools most", .min = kNoMinimum});
    }
  };
  std::vector<Cooling> cooling;
  // Android's thermal status: 0 none, 1 light, 2 moderate, 3 severe, 4 critical, 5 emergency, 6 shutdown.
  std::optional<int> thermal_status;
  // The thermal zones and cooling devices of /sys from which these values were read, in the form of a request
  // to VitalsServer: "z3 z7 c0".
  std::string sources;

  // The higher of the CPU and skin temperatures; absent: no sensor is readable.
  std::optional<double> HottestCelsius() const;
  // The temperature that a limit applies to: the skin temperature, by which Android sets its thermal status,
  // or the CPU temperature if there is no skin sensor. A CPU sensor changes by many degrees within a second
  // of load.
  std::optional<double> CelsiusForLimit() const { return skin_celsius ? skin_celsius : cpu_celsius; }
  // The exceeded limit as text: "46.1 °C > 45 °C". Empty if CelsiusForLimit() is not above the limit, or is
  // not known.
  std::string AboveLimitText(double limit_celsius) const;

  static void Describe(auto& v) {
    v("cpu_celsius", &DeviceVitals::cpu_celsius, {.meaning = "the hottest sensor"});
    v("skin_celsius", &DeviceVitals::skin_celsius, {.meaning = "the hottest sensor"});
    v("battery_percent", &DeviceVitals::battery_percent,
      {.meaning = "charge; null: no battery, or it does not say", .max = 100});
    v("battery_status", &DeviceVitals::battery_status,
      {.meaning = "\"Charging\", \"Discharging\", \"Full\", ...; empty: no battery, or it does not say"});
    v("battery_celsius", &DeviceVitals::battery_celsius, {.meaning = "of the battery"});
    v("thermal_status", &DeviceVitals::thermal_status, {.meaning = "Android's: 0 none to 6 shutdown"});
    v("clocks", &DeviceVitals::clocks, {.meaning = "CPUs that share a clock stand together"});
    v("cooling", &DeviceVitals::cooling, {.meaning = "those of CPUs, and others that are at work"});
  }
};
// Android's name for a thermal status ("none", "light", ...), or the number if Android has no name for it.
std::string ThermalStatusName(int status);

// A POSIX shell script that prints Linux's clocks, thermal zones, cooling devices, and power supplies (below
// $ETPROF_SYSFS_ROOT, if set), and the values of Android's services, since many phones let a shell read only
// parts of /sys.
std::string VitalsScript();
// A POSIX shell script that serves requests: for each line of stdin it prints the clocks, the battery, and
// the requested sources, then kVitalsEnd. A request is "all", or names thermal zones and cooling devices by
// number ("z3 z7 c0"); the latter starts no process.
std::string VitalsServer();
inline constexpr const char* kVitalsEnd = "etprof-vitals-end";

// Parses the output of VitalsScript, or of one request of VitalsServer.
DeviceVitals ParseVitals(const std::string& output);

// Reads a device's vitals repeatedly through one shell, which waits on the device between readings: a reading
// takes milliseconds and starts no process.
class VitalsReader {
 public:
  // With `keep_shell` the shell stays open between readings. Otherwise each reading starts a new shell, for a
  // connection that has no session left for a permanent shell (sshd allows ten).
  explicit VitalsReader(Device& device, bool keep_shell = true) : device_(device), keep_shell_(keep_shell) {}

  // Reads the current vitals. With `all`, reads every thermal zone and cooling device and, on Android,
  // queries its services, which takes a phone a tenth of a second. Otherwise reads only the CPU and skin
  // sensors and the cooling devices that the last reading with `all` found. Absent: the reading failed
  // (broken connection, hanging shell). After two consecutive failures of the shell, all further readings are
  // absent; failures of the connection do not count.
  std::optional<DeviceVitals> Read(bool all);

 private:
  std::optional<DeviceVitals> Request(const std::string& request, double timeout_seconds);

  Device& device_;
  bool keep_shell_;
  std::unique_ptr<Process> shell_;
  std::optional<std::string> sources_;  // DeviceVitals::sources; absent: the next reading reads everything
  int failures_ = 0;
};

}  // namespace etprof
