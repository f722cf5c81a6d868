#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/conditions/other_load.h"
#include "measure/store/run_data.h"

namespace etprof {

// Adds up what other processes use while it is measured: a snapshot before the first launch and one after
// every launch, when no worker runs. Never within a launch.
class LoadWatch {
 public:
  using Read = std::function<std::optional<LoadSnapshot>()>;  // absent: it cannot be read now
  // `now`: seconds of a monotonic clock. `cores`: as for OtherLoadBetween.
  LoadWatch(Read read, std::function<double()> now, int cores)
      : read_(std::move(read)), now_(std::move(now)), cores_(cores) {}

  // Goes on with what an interrupted measurement saw.
  void Continue(std::optional<OtherLoad> earlier) { load_ = std::move(earlier); }
  void Begin() { Look(); }
  // Does nothing as long as the last snapshot took more than a twentieth of the time since, or that is too
  // short to tell a load.
  void AfterLaunch();
  void End();

  // Absent: nothing is known.
  const std::optional<OtherLoad>& load() const { return load_; }

 private:
  void Look();

  Read read_;
  std::function<double()> now_;
  int cores_;
  std::optional<LoadSnapshot> last_;
  double last_at_ = 0, cost_ = 0;
  int failures_ = 0;
  std::optional<OtherLoad> load_;
};

// What a report says of a run on a busy device: at most one sentence, of the time of the measurement where
// that is known to have been busy, else of the moment before it.
std::vector<std::string> LoadWarnings(const RunData& run);

// What is said before a measurement with that many threads at most; empty where there is nothing to say.
std::string LoadWarningBefore(const OtherLoad& load, int threads);

}  // namespace etprof
