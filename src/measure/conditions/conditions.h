#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/conditions/conditions.h"
#include "measure/config/config.h"
#include "measure/schedule/progress.h"
#include "measure/store/run_data.h"

namespace etprof {

// The CPUs that the experiments are pinned to; empty: one of them runs on any. Throws as CpusOf.
std::vector<int> UsedCpus(const Config& config, const DeviceProperties& device);

struct CoolingOptions {
  std::optional<double> max_celsius;  // of DeviceVitals::LimitedCelsius() before a round; absent: any
  double wait_seconds = 300;          // at most, before one round
  std::function<double()> now;        // seconds of a monotonic clock
  std::function<void(double)> sleep;  // that many seconds
  std::function<bool()> interrupted;  // the user wants to stop
  Progress* progress = nullptr;
};

// Reads how the device is before every round, and waits there while it is too hot.
class ConditionsWatch {
 public:
  static constexpr double kMaxWaits = 6;  // of CoolingOptions::wait_seconds, over all rounds
  // Absent: it cannot be read now. `all` as for VitalsReader::Read.
  using ReadVitals = std::function<std::optional<DeviceVitals>(bool all)>;
  // `cpus`: those that are measured on; empty: any.
  ConditionsWatch(ReadVitals read, std::vector<int> cpus, CoolingOptions options)
      : read_(std::move(read)), cpus_(std::move(cpus)), options_(std::move(options)) {}

  // What a phone takes long to say is asked for once a launch (and for every look at a temperature that
  // only Android tells). Absent: it could not be read.
  std::optional<RoundConditions> BeforeRound(int launch, int round, int order);

  double waited_seconds() const { return waited_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::optional<DeviceVitals> Read(bool all);
  std::string WhyTooHot(const DeviceVitals& vitals) const;
  double Cool(std::optional<DeviceVitals>& vitals);

  ReadVitals read_;
  std::vector<int> cpus_;
  CoolingOptions options_;
  int launch_ = -1;
  int thermal_status_ = 0;           // at the last reading of everything
  bool only_services_tell_ = false;  // whether it is cool
  bool gave_up_ = false;             // to wait: it does not get any cooler
  bool told_of_no_sensor_ = false;
  double waited_ = 0;
  std::vector<std::string> warnings_;
};

// What is to be said of a run's conditions as a whole: "3 of 40 rounds ran with capped clocks (CPU 4-7
// at 1.80 of 3.25 GHz)". A round counts as capped, too, where a worker saw the cap of its CPU.
std::vector<std::string> ConditionsWarnings(const RunData& run);

}  // namespace etprof
