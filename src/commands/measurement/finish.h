#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "commands/measurement/measure.h"
#include "core/error.h"
#include "report/devices.h"
#include "report/report.h"

namespace etprof {

// What went wrong on a device.
struct DeviceProblem {
  std::string device;  // "" if the measurement has a single device
  Error error;
};

// The result of a command that measures, for the command line and for Python.
struct FinishedMeasurement {
  std::optional<Report> report;                 // of a single device; absent: nothing was measured
  std::optional<DevicesReport> devices_report;  // of several devices; absent: none could be analyzed
  std::filesystem::path devices_folder;         // where the latter was written
  std::vector<DeviceProblem> problems;

  // kDone without problems; their exit code if all have the same, else kDeviceFailed.
  ExitCode exit_code() const;
};

// An error for each experiment of `run` that failed.
std::vector<Error> FindFailedExperiments(const RunData& run);

// The devices that could not be measured, and the experiments that failed. `several` as in MeasureJobs.
std::vector<DeviceProblem> FindProblems(const std::vector<DeviceMeasurement>& devices, bool several);

// Analyzes the results directories of a measurement that was not interrupted (or of FindStoredRuns), and
// writes the reports. A run that was resumed is also validated. A ladder's failed lower levels are a part of
// its result, and no problem. Throws as AnalyzeRunDirectory if there is a single device.
FinishedMeasurement FinishMeasurement(const std::vector<DeviceMeasurement>& devices, bool several,
                                      bool resumed);

}  // namespace etprof
