#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workflow/measure/measure.h"
#include "workflow/measure/suite.h"

// How a suite measures on one of its devices.
namespace etprof {

// The profile of a cell, which its results directory is of. `program`: the .pte.
ProfileOptions ProfileOf(const SuiteConfig& suite, const SuiteCell& cell, const SuiteOptions& options,
                         const std::filesystem::path& program);
// Its configuration on a device that is open.
Config ConfigOfCell(const SuiteConfig& suite, const ProfileOptions& profile, Device& device,
                    const DeviceProperties& properties);

// What a results directory says of itself.
struct StoredCell {
  bool there = false;
  bool complete = false;  // as far as it was to be measured, and nothing of it failed
  std::string hash;       // of its configuration
  double seconds = 0;     // that measuring took
  double waited = 0;      // beside that, for a quiet and cool device
  int launches = 0;
  // The largest half-width of its pairs, or of its experiments where there is none, as a multiple of the
  // precision; infinity where there is no interval yet.
  double uncertainty = 0;
};
StoredCell LookAtCell(const std::filesystem::path& folder);

struct SuiteTask {
  const SuiteCell* cell = nullptr;
  SuiteState::Cell* state = nullptr;  // written within `change` alone
  std::filesystem::path program;
  std::string hash = {};                  // of the configuration that is to be measured; empty: not known yet
  std::optional<StoredCell> stored = {};  // as SuiteDevice::Stored read it; absent: not since it was measured
};

class SuiteDevice {
 public:
  // `tasks`: one at least, of one device. `change` runs what it is given while nobody else reads or changes
  // the state, then stores it.
  SuiteDevice(const SuiteConfig& suite, const SuiteOptions& options, std::size_t place,
              std::vector<SuiteTask> tasks, const std::function<void(const std::function<void()>&)>& change,
              WorkflowProgress& progress);

  // All of it, in the thread that calls.
  void Run();

 private:
  bool Open();
  void Attempt(SuiteTask& task, double max_seconds, bool again);
  void Measure(SuiteTask& task, DeviceTurn& turn, double max_seconds, bool again);
  void Extend();
  void Set(SuiteTask& task, SuiteCellStatus status, const std::string& reason, double seconds = 0);
  // Reading a results directory takes longer the more is in it, and only measuring changes it.
  static const StoredCell& Stored(SuiteTask& task);
  // Sets the seconds of cells whose measurement is missing or outdated to 0, since what they took is no part
  // of this time budget.
  void DropOutdatedSeconds();
  // The cell's profile and configuration on the device, which is open. Throws Error for wrong ones.
  std::pair<ProfileOptions, Config> Configure(const SuiteTask& task) const;
  double Used();
  double Budget() const;
  double FirstSeconds(std::size_t next);
  std::string NameOf(const SuiteTask& task) const;

  const SuiteConfig& suite_;
  const SuiteOptions& options_;
  const std::size_t place_;
  std::vector<SuiteTask> tasks_;
  const std::function<void(const std::function<void()>&)>& change_;
  WorkflowProgress& progress_;
  std::unique_ptr<Device> device_;
  DeviceProperties properties_;
  std::string unreachable_;  // why; then nothing more is tried
};

}  // namespace etprof
