#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/escape.h"
#include "core/units.h"
#include "core/views.h"
#include "measure/store/run_files.h"
#include "workflow/analyze/analyze.h"
#include "workflow/measure/plan.h"

namespace etprof {
namespace {

constexpr int kDone = static_cast<int>(ExitCode::kDone);
constexpr int kFailed = static_cast<int>(ExitCode::kDeviceFailed);

// Reports an error with the device's name, unless the error already names it.
void ReportDeviceError(const Measured& device, const Error& error) {
  const std::string& name = device.device;
  const bool named = error.file() == name || error.problem().starts_with(name + " ");
  PrintError(error, named ? "" : name + ": ");
}

int ReportPartialResults(const std::vector<std::string>& folders, const char* view_command,
                         const std::string& resume_command) {
  PrintMessage("Interrupted. Partial results are in {}.\n  View:    etprof {} {}\n  Resume:  {}\n",
               fmt::format("{}", fmt::join(folders, ", ")), view_command,
               fmt::format("{}", fmt::join(folders, " ")), resume_command);
  return static_cast<int>(ExitCode::kInterrupted);
}

int ReportInterruptions(const std::vector<Measured>& devices, const std::string& resume_command) {
  std::vector<std::string> folders_with_results;
  for (const Measured& device : devices) {
    if (device.error && !device.Interrupted()) ReportDeviceError(device, *device.error);
    if (device.measured) folders_with_results.push_back(ShortestPath(device.config.output_root));
  }
  if (!folders_with_results.empty())
    return ReportPartialResults(folders_with_results, "report", resume_command);
  PrintMessage("Interrupted before anything was measured\n");
  return static_cast<int>(ExitCode::kInterrupted);
}

// Reports the problems of each device. Returns the exit code.
int ReportProblems(const std::vector<Measured>& devices) {
  bool failed = false, any_measured = false;
  std::set<ExitCode> codes;
  for (const Measured& device : devices) {
    if (device.error) {
      ReportDeviceError(device, *device.error);
      codes.insert(device.error->exit_code());
      failed = true;
    }
    any_measured = any_measured || !device.error || device.measured;
    const std::string name = devices.size() > 1 ? device.device : "";
    if (device.run && ReportFailures(*device.run, name)) failed = true;
  }
  if (!any_measured && codes.size() == 1) return static_cast<int>(*codes.begin());
  return failed ? kFailed : kDone;
}

int ShowDevice(const std::filesystem::path& folder, const View& view) {
  ShowReport(AnalyzeRunDirectory(folder), view, (folder / kReportPage).string());
  return kDone;
}

int ShowDevices(const std::vector<const Measured*>& devices, const View& view) {
  const AnalyzedDevices analyzed = AnalyzeDevices(devices);
  for (const auto& [device, error] : analyzed.failed) ReportDeviceError(*device, error);
  if (analyzed.report) ShowDevicesReport(*analyzed.report, view, ShortestPath(analyzed.written));
  return analyzed.failed.empty() ? kDone : kFailed;
}

}  // namespace

std::vector<Measured> MeasureAll(const MeasureJobs& jobs, const MeasureRequest& request, bool dry_run) {
  TerminalProgress progress(jobs.several ? MapEach(jobs.jobs, &MeasureJob::device)
                                         : std::vector<std::string>());
  return MeasureOnDevices(jobs, request, dry_run, progress);
}

int ReportInterruption(const RunData& run, const std::string& resume_command) {
  return ReportPartialResults({ShortestPath(run.folder)}, "analyze", resume_command);
}

bool ReportFailures(const RunData& run, const std::string& device) {
  bool failed = false;
  for (const ExperimentData& data : run.experiments) {
    if (data.error.empty()) continue;
    PrintMessage("error: {}{}Experiment `{}` failed: {}\n", device, device.empty() ? "" : ": ", data.label,
                 data.error);
    failed = true;
  }
  return failed;
}

void ReportHistoryAdditions(const AddedToHistory& added,
                            const std::function<void(const std::string&)>& write) {
  using Added = HistoryFile::Added;
  if (added.unknown_commit) {
    PrintMessage(
        "warning: Git does not know commit `{}` here. Its place is that of the measurement's time. Give "
        "`--time` if that is wrong.\n",
        EscapeToOneLine(added.commit));
  }
  for (const AddedToHistory::Run& run : added.runs) {
    for (const std::string& clause : run.left_out) PrintMessage("note: {}: {}\n", run.path, clause);
    for (const SeriesKey& series : run.of_other_operators) {
      PrintMessage(
          "warning: {}: Its commit has another run of `{}`, with other operators. If that was another model, "
          "give the files different names: both are one series of the history.\n",
          EscapeToOneLine(run.path), EscapeToOneLine(GetName(series)));
    }
    write(fmt::format("{}: {}", EscapeToOneLine(run.path),
                      run.added == Added::kNew        ? "added to commit " + EscapeToOneLine(added.commit)
                      : run.added == Added::kReplaced ? "replaced, since it has more launches now"
                                                      : "already there, nothing added"));
  }
}

int ReportHistoryUpdates(const std::vector<HistoryUpdate>& kept, const std::string& file, int code) {
  std::int64_t all = 0;
  for (const auto& [added, error] : kept) {
    if (error) {
      PrintError(*error);
      if (code == kDone) code = static_cast<int>(error->exit_code());
    }
    if (!added) continue;
    ReportHistoryAdditions(*added, [](const std::string& line) { PrintMessage("{}\n", line); });
    all = added->all;
  }
  if (all > 0) PrintMessage("{}: {}\n", file, CountedText(all, "measurement"));
  return code;
}

int ShowMeasured(const std::vector<Measured>& devices, bool several, const MeasureRequest& request,
                 const View& view, const std::string& resume_command) {
  if (std::ranges::any_of(devices, &Measured::Interrupted)) {
    return several ? ReportInterruptions(devices, resume_command)
                   : ReportInterruption(*devices.front().run, resume_command);
  }
  std::vector<const Measured*> measured;
  for (const Measured& device : devices) {
    const bool failed = device.run && device.run->status == RunData::Status::kFailed;
    if (device.measured && !failed) measured.push_back(&device);
  }
  int code = kDone;
  if (several) {
    code = ShowDevices(measured, view);
  } else if (!measured.empty()) {
    code = ShowDevice(ShortestPath(measured.front()->run->folder), view);
  }
  if (const int problems = ReportProblems(devices); problems != kDone) code = problems;
  const bool validate = request.resume && code == kDone;
  for (std::size_t i = 0; i < measured.size() && validate; ++i)
    code = std::max(code, ValidateRecovered(ShortestPath(measured[i]->config.output_root)));
  return ReportHistoryUpdates(MapEach(devices, &Measured::kept), request.history.file, code);
}

int ShowStoredRuns(const std::vector<Measured>& devices, bool several, const View& view) {
  if (!several) return ShowDevice(devices.front().config.output_root, view);
  std::vector<const Measured*> found;
  for (const Measured& device : devices) {
    if (!device.error) found.push_back(&device);
    if (device.error) ReportDeviceError(device, *device.error);
  }
  const int code = ShowDevices(found, view);
  return found.size() < devices.size() ? static_cast<int>(ExitCode::kBadInput) : code;
}

int ShowPlan(const std::vector<Measured>& devices, const MeasureRequest& request, View view) {
  if (std::ranges::any_of(devices, &Measured::Interrupted)) return ReportInterruptions(devices, "");
  const int code = ReportProblems(devices);
  if (std::ranges::all_of(devices, [](const Measured& device) { return device.error.has_value(); }))
    return code;
  view.default_table = "experiments";
  ShowDocument(PlanDocument(devices, request), view, "",
               [&](std::ostream& out) { out << JsonText(PlanJson(devices, request), 2) << '\n'; });
  return code;
}

}  // namespace etprof
