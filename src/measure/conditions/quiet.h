#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/conditions/other_load.h"
#include "device/conditions/vitals.h"
#include "measure/schedule/progress.h"

namespace etprof {

struct QuietOptions {
  double wait_seconds = 0;  // at most; 0: it looks at the load once
  int threads = 1;          // the most of an experiment
  std::optional<double> max_celsius;
  std::function<std::optional<OtherLoad>()> load;       // absent: it cannot be read, and is not waited for
  std::function<std::optional<DeviceVitals>()> vitals;  // of everything; absent: likewise
  std::function<double()> now;                          // seconds of a monotonic clock
  std::function<void(double)> sleep;                    // that many seconds
  std::function<bool()> interrupted;
  Progress* progress = nullptr;
};

struct Quiet {
  std::optional<OtherLoad> load;  // at the last look
  double waited_seconds = 0;
  std::string warning;  // why it was not quiet in all that time; empty: it was
};

// Before a measurement: waits while other processes keep the device busy, and while it is hot: above
// max_celsius, or slowed down by its heat (Android's thermal status, a CPU's cooling device). A limit of the
// clocks alone is a setting, which no waiting changes. What was busy has to be quiet in three looks in a row:
// a build pauses, too.
Quiet WaitUntilQuiet(const QuietOptions& options);

}  // namespace etprof
