#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/options.h"
#include "core/json/json_members.h"
#include "report/devices.h"
#include "report/report.h"
#include "report/suite.h"
#include "say/document.h"
#include "workflow/measure/measure.h"

// Results on stdout. Each throws Error (kDeviceFailed) where that cannot be written.
namespace etprof {

// What --by may be: the names of say::ReportViews.
std::vector<std::string> AllByNames();

// The screen for a person, or what `view` asks for in its place; `more`: where the whole is. Throws Error
// (kUsage) for a table that is not there.
void ShowReport(const Report& report, const View& view, const std::string& more);
void ShowDevicesReport(const DevicesReport& report, const View& view, const std::string& more);
// `document` says the suite (say::SaySuite).
void ShowSuite(const SuiteReport& suite, const say::Document& document, const View& view);
// Writes the document to the files that were asked for; then, unless one of them is stdout, shows JSON (what
// `json` writes, else the document's) where that is asked for, the table of the id view.csv, or the screen.
// Whether it showed one of these.
bool ShowDocument(const say::Document& document, const View& view, const std::string& more,
                  const std::function<void(std::ostream&)>& json = nullptr);
// The same, of a value whose members are that JSON.
template <Described T>
void ShowDocument(const say::Document& document, const View& view, const T& value,
                  const std::string& more = "") {
  ShowDocument(document, view, more, [&](std::ostream& out) { WriteJson(value, 2, out); });
}

// Names a file that was written, on a line of stdout, unless it is that itself.
void ShowFile(const std::filesystem::path& file);

// MeasureOnDevices, with its progress on stderr.
std::vector<Measured> MeasureAll(const MeasureJobs& jobs, const MeasureRequest& request,
                                 bool dry_run = false);
// What a measurement came to: analyzes and shows it, or tells on stderr what went wrong, and how to go on
// (`resume_command`). Returns the exit code: kDeviceFailed where a device or an experiment failed,
// kInterrupted after Ctrl-C.
int ShowMeasured(const std::vector<Measured>& devices, bool several, const MeasureRequest& request,
                 const View& view, const std::string& resume_command);
// The same, of what was measured before (FindMeasured), and of a dry run.
int ShowFound(const std::vector<Measured>& devices, bool several, const View& view);
int ShowPlan(const std::vector<Measured>& devices, const MeasureRequest& request, View view);
int TellInterruption(const RunData& run, const std::string& resume_command);
// Tells on stderr which experiments failed, and why; of several devices also on which. Returns whether there
// was one.
bool TellFailures(const RunData& run, const std::string& device = "");

// What became of adding measurements to a history, in lines that go to `write`; an error goes to stderr.
// Returns the exit code: `code`, or where that is kDone and one could not be added, the error's.
int TellKept(const std::vector<KeptInHistory>& kept, const std::string& file, int code);
// Those lines; notes go to stderr.
void TellAdded(const AddedToHistory& added, const std::function<void(const std::string&)>& write);

// Validates a run that was recovered or resumed. Shows on stderr what is broken; returns the exit code: kDone
// or kDeviceFailed.
int ValidateRecovered(const std::string& folder);

}  // namespace etprof
