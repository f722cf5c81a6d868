#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/measure/suite.h"
#include "commands/measurement/measure.h"

namespace etprof {

// Makes the configuration that measures a cell's `program`, a .pte, on an open device into the cell's results
// directory.
Config MakeCellConfig(const SuiteConfig& suite, const SuiteCell& cell, const std::filesystem::path& program,
                      Device& device, const DeviceProperties& properties);

// State of a cell's stored measurement, read from its results directory.
struct StoredCell {
  bool exists = false;
  bool complete = false;      // the measurement finished and no experiment failed
  std::string hash;           // hash of the configuration
  double seconds = 0;         // seconds of measuring
  double waited_seconds = 0;  // additional seconds spent waiting for a quiet and cool device
  int launches = 0;
  // The largest half-width of the cell's pairs, or of its experiments if it has no pair, as a multiple of the
  // requested precision; infinity without an interval.
  double uncertainty = 0;
};
StoredCell ReadStoredCell(const std::filesystem::path& folder);

struct SuiteTask {
  const SuiteCell* cell = nullptr;
  SuiteState::Cell* state = nullptr;  // changed only inside of `change`
  std::filesystem::path program;
  std::string hash = {};  // hash of the configuration to measure; empty: not known yet
  // Cached result of SuiteDevice::GetStoredCell; absent: not read since the last measurement.
  std::optional<StoredCell> stored = {};
};

// Measures the cells of a suite on one of its devices.
class SuiteDevice {
 public:
  // `tasks` has at least one task, all of one device. `change` calls its argument while nobody else reads or
  // changes the suite's state, then stores the state.
  SuiteDevice(const SuiteConfig& suite, const SuiteOptions& options, std::size_t device_index,
              std::vector<SuiteTask> tasks, const std::function<void(const std::function<void()>&)>& change,
              WorkflowProgress& progress);

  // Measures all tasks in the calling thread.
  void Run();

 private:
  bool Open();
  void Attempt(SuiteTask& task, double max_seconds, bool extending);
  void Measure(SuiteTask& task, DeviceLock& lock, double max_seconds, bool extending);
  // Gives the remaining time to the cell with the widest interval, step by step.
  void ExtendLeastCertainCells();
  void SetStatus(SuiteTask& task, SuiteCellStatus status, const std::string& reason, double seconds = 0);
  // Returns the cached state of the task's results directory. Only measuring changes the state, and reading a
  // large directory takes long.
  static const StoredCell& GetStoredCell(SuiteTask& task);
  // Sets the seconds of cells whose measurement is missing or outdated to 0, so that they do not count toward
  // this time budget.
  void DropOutdatedSeconds();
  // Makes the cell's configuration for the open device. Throws Error if it is invalid.
  Config Configure(const SuiteTask& task) const;
  double UsedSeconds();
  double BudgetSeconds() const;
  double InitialSeconds(std::size_t next);
  std::string CellName(const SuiteTask& task) const;

  const SuiteConfig& suite_;
  const SuiteOptions& options_;
  const std::size_t device_index_;
  std::vector<SuiteTask> tasks_;
  const std::function<void(const std::function<void()>&)>& change_;
  WorkflowProgress& progress_;
  std::unique_ptr<Device> device_;
  DeviceProperties properties_;
  std::string connection_error_;  // if not empty, no further attempts are made
};

}  // namespace etprof
