#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "commands/measurement/measure.h"
#include "commands/terminal/options.h"
#include "core/json/json_members.h"
#include "report/devices.h"
#include "report/report.h"
#include "report/suite/suite.h"
#include "show/document.h"

// Shows results on stdout. Every function throws Error (kDeviceFailed) if stdout cannot be written.
namespace etprof {

// The values that --by accepts: the names of show::ReportViews.
std::vector<std::string> ByOptionNames();

// Shows the screen, or what `view` selects instead. `details` says where to find more: the path of the full
// report, or an option that writes it. Throws Error (kUsage) for a table that does not exist.
void ShowReport(const Report& report, const View& view, const std::string& details);
void ShowDevicesReport(const DevicesReport& report, const View& view, const std::string& details);
// `document` is the document of the suite (show::MakeSuiteDocument).
void ShowSuite(const SuiteReport& suite, const show::Document& document, const View& view);
// Writes the document to the selected files. Unless one of them is stdout, also shows JSON if selected (from
// `json`, else the document's), or the table view.csv, or the screen. Returns whether it showed any of these.
bool ShowDocument(const show::Document& document, const View& view, const std::string& details,
                  const std::function<void(std::ostream&)>& json = nullptr);
// Does the same as above; the JSON has the members of `value`.
template <Described T>
void ShowDocument(const show::Document& document, const View& view, const T& value,
                  const std::string& details = "") {
  ShowDocument(document, view, details, [&](std::ostream& out) { WriteJson(value, 2, out); });
}

// Prints the path of a written file on a line of stdout, unless the file is stdout itself.
void ShowFile(const std::filesystem::path& file);

// Calls MeasureOnDevices and shows its progress on stderr.
std::vector<DeviceMeasurement> MeasureAll(const MeasureJobs& jobs, const MeasureRequest& request,
                                          bool dry_run = false);
using ShowAnalysis = std::function<void(const Report&)>;
inline constexpr const char* kResumeCommand = "the same command with --resume";
// Measures, analyzes, and shows the result: the report of a single device by `show` (default: ShowReport).
// Reports problems, the way to resume after Ctrl-C (`resume_command`), and additions to a history on stderr.
// Returns the exit code: FinishedMeasurement::exit_code, or kInterrupted.
int MeasureAndShow(const MeasureJobs& jobs, const MeasureRequest& request, const View& view,
                   const ShowAnalysis& show = nullptr, const std::string& resume_command = kResumeCommand);
// Shows earlier measurements (FindStoredRuns), or the plan of a dry run. Returns the exit code.
int ShowStoredRuns(const std::vector<DeviceMeasurement>& devices, bool several_devices, const View& view);
int ShowPlan(const std::vector<DeviceMeasurement>& devices, const MeasureRequest& request, View view);
int ReportInterruption(const RunData& run, const std::string& resume_command = kResumeCommand);

// Reports the outcome of adding measurements to a history: lines on stderr. Returns the exit code: `code`, or
// if that is kDone and a measurement could not be added, the error's.
int ReportHistoryUpdates(const std::vector<HistoryUpdate>& updates, const std::string& file, int code);
// Reports added measurements: lines go to `write`, notes to stderr.
void ReportHistoryAdditions(const HistoryAdditions& added,
                            const std::function<void(const std::string&)>& write);
}  // namespace etprof
