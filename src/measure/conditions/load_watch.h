#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/conditions/other_load.h"
#include "measure/store/run_data.h"

namespace etprof {

// Adds up the load by other processes during a measurement, from snapshots before the first launch and after
// every launch, when no worker runs. Takes no snapshots during a launch.
class LoadWatch {
 public:
  using ReadFunction = std::function<std::optional<LoadSnapshot>()>;  // absent: the load cannot be read now
  // `now`: seconds of a monotonic clock. `cores`: as for OtherLoadBetween.
  LoadWatch(ReadFunction read, std::function<double()> now, int cores)
      : read_(std::move(read)), now_(std::move(now)), cores_(cores) {}

  // Continues with the load that an interrupted measurement recorded.
  void Continue(std::optional<OtherLoad> earlier) { load_ = std::move(earlier); }
  void Begin() { TakeSnapshot(); }
  // Takes a snapshot, unless the last snapshot took more than a twentieth of the time since then, or that
  // time is too short to measure a load.
  void AfterLaunch();
  void End();

  // Absent: the load is not known.
  const std::optional<OtherLoad>& load() const { return load_; }

 private:
  void TakeSnapshot();

  ReadFunction read_;
  std::function<double()> now_;
  int cores_;
  std::optional<LoadSnapshot> last_snapshot_;
  // Seconds: when the last snapshot was taken, and how long it took.
  double last_snapshot_time_ = 0, snapshot_seconds_ = 0;
  int failures_ = 0;
  std::optional<OtherLoad> load_;
};

// The report's warning about other processes: at most one sentence, about the load during the measurement if
// that was high, else about the load before it.
std::vector<std::string> LoadWarnings(const RunData& run);

// The warning before a measurement with at most this many threads; empty: none.
std::string LoadWarningBefore(const OtherLoad& load, int threads);

}  // namespace etprof
