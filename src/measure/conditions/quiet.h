#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/conditions/other_load.h"
#include "device/conditions/vitals.h"
#include "measure/schedule/progress.h"

namespace etprof {

struct QuietOptions {
  double wait_seconds = 0;  // maximum waiting time; 0: read the load once without waiting
  int threads = 1;          // maximum number of threads of an experiment
  std::optional<double> max_celsius;
  // Absent: the load cannot be read, and does not delay the measurement.
  std::function<std::optional<OtherLoad>()> load;
  // All vitals; absent: they cannot be read, and do not delay the measurement.
  std::function<std::optional<DeviceVitals>()> vitals;
  std::function<double()> now;        // seconds of a monotonic clock
  std::function<void(double)> sleep;  // sleeps for this many seconds
  std::function<bool()> interrupted;
  Progress* progress = nullptr;
};

// The result of waiting for a quiet device.
struct QuietResult {
  std::optional<OtherLoad> load;  // the last reading; absent: the load cannot be read
  double waited_seconds = 0;
  std::string warning;  // why the device was still not quiet at the end; empty: it was
};

// Waits before a measurement while other processes keep the device busy, and while it is hot: above
// max_celsius, or throttled (Android's thermal status, a CPU's cooling device). A clock limit without heat is
// a setting, which waiting does not change. A device that was busy must be quiet in three readings in a row,
// since builds pause, too.
QuietResult WaitUntilQuiet(const QuietOptions& options);

}  // namespace etprof
