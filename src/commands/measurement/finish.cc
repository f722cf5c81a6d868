#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "commands/analyze/analyze.h"
#include "commands/analyze/report.h"
#include "commands/measurement/measure.h"
#include "core/file/file.h"

namespace etprof {
namespace {

// True if a ladder has no usable result: the CPU's full feature level failed, or fewer than two levels were
// measured.
bool LadderFailed(const Ladder& ladder) {
  const std::size_t top = ladder.levels.size() - 1;
  std::size_t measured_levels = 0;
  for (std::size_t level = 0; level <= top; ++level)
    measured_levels += ladder.IsMeasured({level, 0}) ? 1U : 0U;
  bool full_level_failed = false;
  for (std::size_t thread_index = 0; thread_index < ladder.threads.size(); ++thread_index)
    full_level_failed = full_level_failed || !ladder.IsMeasured({top, thread_index});
  return full_level_failed || measured_levels < 2;
}

bool HasResults(const DeviceMeasurement& device) {
  return device.measured && !(device.run && device.run->status == RunData::Status::kFailed);
}

std::optional<Error> FindValidationError(const std::filesystem::path& folder) {
  const Validation validation = ValidateRun(folder.string());
  const auto broken = std::ranges::find(validation.findings, ValidationFinding::Severity::kBroken,
                                        &ValidationFinding::severity);
  if (broken == validation.findings.end()) return std::nullopt;
  return Error(ExitCode::kDeviceFailed, fmt::format("is broken after the measurement was resumed: {}: {}",
                                                    broken->file, broken->problem))
      .InFile(folder.string())
      .Remedy(fmt::format("run `etprof validate {}` to see all that is broken", folder.string()));
}

}  // namespace

ExitCode FinishedMeasurement::exit_code() const {
  if (problems.empty()) return ExitCode::kDone;
  const ExitCode first = problems.front().error.exit_code();
  const bool all_equal = std::ranges::all_of(
      problems, [first](const DeviceProblem& problem) { return problem.error.exit_code() == first; });
  return all_equal ? first : ExitCode::kDeviceFailed;
}

std::vector<Error> FindFailedExperiments(const RunData& run) {
  std::vector<Error> failed;
  for (const ExperimentData& data : run.experiments) {
    if (!data.error.empty())
      failed.emplace_back(ExitCode::kDeviceFailed,
                          fmt::format("experiment `{}` failed: {}", data.label, data.error));
    if (run.schedule.sustained_seconds == 0) continue;
    for (const Launch& launch : data.launches) {
      if (data.error.empty() && !launch.problem.empty())
        failed.emplace_back(ExitCode::kDeviceFailed, fmt::format("the sustained run of `{}` ended early: {}",
                                                                 data.label, launch.problem));
    }
  }
  return failed;
}

std::vector<DeviceProblem> FindProblems(const std::vector<DeviceMeasurement>& devices, bool several_devices) {
  std::vector<DeviceProblem> problems;
  for (const DeviceMeasurement& device : devices) {
    const std::string name = several_devices ? device.device : "";
    if (device.error) problems.push_back({name, *device.error});
    if (!device.run) continue;
    for (Error& error : FindFailedExperiments(*device.run)) problems.push_back({name, std::move(error)});
  }
  return problems;
}

FinishedMeasurement FinishMeasurement(const std::vector<DeviceMeasurement>& devices, bool several_devices,
                                      bool resumed) {
  FinishedMeasurement finished;
  finished.problems = FindProblems(devices, several_devices);
  std::vector<Report> reports;
  for (const DeviceMeasurement& device : devices) {
    if (!HasResults(device)) continue;
    try {
      reports.push_back(AnalyzeRunDirectory(ShortestPath(device.config.output_root)));
    } catch (const Error& error) {
      if (!several_devices) throw;
      finished.problems.push_back({device.device, error});
    }
  }
  if (several_devices && !reports.empty()) {
    finished.devices_report = AssembleDevicesReport(std::move(reports));
    finished.devices_folder = WriteDevicesReport(*finished.devices_report, "");
  } else if (!reports.empty()) {
    finished.report = std::move(reports.front());
    if (finished.report->ladder && !LadderFailed(*finished.report->ladder)) finished.problems.clear();
  }
  if (!resumed || !finished.problems.empty()) return finished;
  for (const DeviceMeasurement& device : devices) {
    if (std::optional<Error> broken = FindValidationError(ShortestPath(device.config.output_root)))
      finished.problems.push_back({several_devices ? device.device : "", *std::move(broken)});
  }
  return finished;
}

}  // namespace etprof
