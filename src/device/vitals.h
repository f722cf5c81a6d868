#pragma once

#include <optional>
#include <string>

namespace etprof {

// How a device is at this moment, as far as it tells.
struct DeviceVitals {
  std::optional<double> cpu_celsius, skin_celsius;  // the hottest sensor of its kind
  std::optional<int> battery_percent;
  std::string
      battery_status;  // "Charging", "Discharging", "Full", ...; empty: no battery, or it does not say
};

// A script for a POSIX shell that prints Linux's thermal zones and power supplies (below $ETPROF_SYSFS_ROOT,
// where that is set), and Android's own view of both: many phones let a shell read less of /sys.
std::string VitalsScript();

// What the script printed.
DeviceVitals ParseVitals(const std::string& printed);

}  // namespace etprof
