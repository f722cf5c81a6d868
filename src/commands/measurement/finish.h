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

// A problem of a measurement on a device.
struct DeviceProblem {
  std::string device;  // "" if the measurement has a single device
  Error error;
};

// The result of a command that measures, for the command line and for Python.
struct FinishedMeasurement {
  std::optional<Report> report;                 // report of a single device; absent: nothing was measured
  std::optional<DevicesReport> devices_report;  // report of several devices; absent: no run could be analyzed
  std::filesystem::path devices_folder;         // the folder of devices_report
  std::vector<DeviceProblem> problems;

  // Returns kDone without problems, the exit code of the problems if all have the same, else kDeviceFailed.
  ExitCode exit_code() const;
};

// Returns an error for each experiment of `run` that failed.
std::vector<Error> FindFailedExperiments(const RunData& run);

// Returns the devices that could not be measured, and the experiments that failed. `several_devices` is
// MeasureJobs::several_devices.
std::vector<DeviceProblem> FindProblems(const std::vector<DeviceMeasurement>& devices, bool several_devices);

// Analyzes the results directories of a measurement that was not interrupted (or of FindStoredRuns), and
// writes the reports. A run that was resumed is also validated. Failed lower levels are part of the result
// of a ladder, not a problem. Throws as AnalyzeRunDirectory if there is a single device.
FinishedMeasurement FinishMeasurement(const std::vector<DeviceMeasurement>& devices, bool several_devices,
                                      bool resumed);

}  // namespace etprof
