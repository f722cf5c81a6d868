#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/conditions/other_load.h"
#include "device/conditions/vitals.h"
#include "measure/config/config.h"
#include "measure/schedule/progress.h"
#include "measure/store/run_data.h"

namespace etprof {

// The CPUs that the experiments are pinned to; empty: at least one experiment may run on any CPU. Throws as
// ResolveCpus.
std::vector<int> PinnedCpus(const Config& config, const DeviceProperties& device);

struct CoolingOptions {
  std::optional<double>
      max_celsius;              // limit for DeviceVitals::CelsiusForLimit() before a round; absent: none
  double wait_seconds = 300;    // maximum waiting time before one round
  std::function<double()> now;  // seconds of a monotonic clock
  std::function<void(double)> sleep;  // sleeps for this many seconds
  std::function<bool()> interrupted;  // true if the user wants to stop
  Progress* progress = nullptr;
};

// Reads the device's vitals before every round, and waits while the device is too hot.
class ConditionsWatch {
 public:
  // Maximum waiting in total, as a multiple of CoolingOptions::wait_seconds.
  static constexpr double kMaxWaits = 6;
  // Reads the vitals; without `all`, only the values that are read quickly. Absent: they cannot be read now.
  using ReadVitals = std::function<std::optional<DeviceVitals>(bool all)>;
  // `cpus`: the CPUs that the experiments use; empty: any CPU.
  ConditionsWatch(ReadVitals read, std::vector<int> cpus, CoolingOptions options)
      : read_(std::move(read)), cpus_(std::move(cpus)), options_(std::move(options)) {}

  // Once per launch, reads all vitals. Otherwise omits values that a phone provides slowly, unless
  // max_celsius is set and only Android's services report the temperature. Absent: the vitals could not be
  // read.
  std::optional<RoundConditions> BeforeRound(int launch, int round, int order);

  double waited_seconds() const { return waited_seconds_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::optional<DeviceVitals> Read(bool all);
  std::string TooHotReason(const DeviceVitals& vitals) const;
  double WaitUntilCool(std::optional<DeviceVitals>& vitals);

  ReadVitals read_;
  std::vector<int> cpus_;
  CoolingOptions options_;
  int launch_ = -1;
  int thermal_status_ = 0;                         // Android's status at the last reading of all vitals
  bool only_services_report_temperature_ = false;  // only Android's services report the temperature
  bool gave_up_ = false;                           // stopped waiting, since the device does not get cooler

  bool warned_no_sensor_ = false;
  double waited_seconds_ = 0;
  std::vector<std::string> warnings_;
};

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

// Returns the warnings about a run's conditions as a whole: "3 of 40 rounds ran with capped clocks (CPU 4-7
// at 1.80 of 3.25 GHz)". A round also counts as capped if a worker reported a cap of its CPU.
std::vector<std::string> ConditionsWarnings(const RunData& run);

}  // namespace etprof
