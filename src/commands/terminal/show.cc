#include "commands/terminal/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>

#include "commands/terminal/terminal.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/escape.h"
#include "core/text/text.h"
#include "core/units.h"
#include "core/views.h"
#include "device/device.h"
#include "measure/store/run_files.h"
#include "report/devices.h"
#include "show/formats.h"
#include "show/formats/csv/table_csv.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"
#include "show/subjects.h"
#include "show/subjects/run/report.h"
#include "show/wording.h"

namespace etprof {
namespace {

TerminalOptions MakeTerminalOptions(const View& view, const std::string& details) {
  TerminalOptions options = StdoutOptions();
  options.report_path = details;
  options.all = view.all;
  return options;
}

void ShowBreakdown(const Report& report, View view) {
  const show::ReportView& report_view =
      *std::ranges::find(show::ReportViews(), view.by, &show::ReportView::name);
  show::Document document = report_view.make(report);
  view.all = view.all || report_view.is_breakdown;
  (document.title.empty() ? document.title : document.facts.emplace_back()) = HeaderText(report);
  if (document.sections.empty())
    document.notes = {{std::string("nothing to show: ") + report_view.empty_reason}};
  for (show::Section& section : document.sections) {
    if (section.visibility == show::Visibility::kPage)
      section.visibility = show::Visibility::kDefault;  // the user asked for this part
  }
  const std::vector<std::string> tables = TableIds(document);
  if (!view.csv.empty() && tables.empty())
    throw Error(ExitCode::kUsage,
                fmt::format("--by {} has no table here: {}", view.by, report_view.empty_reason));
  if (view.csv == kDefaultTable && tables.size() > 1) {
    throw Error(ExitCode::kUsage, fmt::format("--by {} has several tables", view.by))
        .Remedy(fmt::format("give one of them: --csv={}", fmt::join(tables, "|")));
  }
  if (!tables.empty()) view.default_table = tables.front();
  ShowDocument(document, view, "");
}

// Shows a table that is also a file, or a table of the document.
void ShowTable(const Report& report, const std::string& table) {
  std::vector<std::string> names = ReportTableNames();
  if (std::ranges::find(names, table) == names.end()) {
    const show::Document document = show::MakeReportDocument(report);
    for (const std::string& other : TableIds(document)) AppendUnique(other, names);
    RequireTableId(table, names);
    return RenderDocumentCsv(document, table, std::cout);
  }
  if (table == "comparison" && report.comparisons.empty()) {
    throw Error(ExitCode::kUsage, "`--csv=comparison`: nothing is compared here")
        .Remedy("give a run with pairs, or use `etprof compare`");
  }
  if (table == "ladder" && !report.ladder) {
    throw Error(ExitCode::kUsage, "`--csv=ladder`: this is not a run of `etprof isa`")
        .Remedy("run `etprof isa MODEL.pte`");
  }
  RenderReportTableCsv(report, table, std::cout);
}

// Writes the document to the selected files; the page of a `report`, if given, has its views. Returns whether
// the result is to be shown, too.
bool WriteDocumentFiles(const show::Document& document, const View& view, const Report* report = nullptr) {
  bool shows_result = !view.quiet;
  for (const DocumentFormat& format : kDocumentFormats) {
    const auto file = view.files.find(format.name);
    if (file == view.files.end() || file->second.empty()) continue;
    WriteOutput(file->second, [&](std::ostream& out) {
      report != nullptr&& format.render == RenderDocumentHtml ? RenderHtml(*report, out)
                                                              : format.render(document, out);
    });
    shows_result = shows_result && !IsStdout(file->second);
  }
  return shows_result;
}

// Reports errors. Each begins with the name of its device, unless the error already names the device.
void ReportProblems(const std::vector<DeviceProblem>& problems) {
  for (const auto& [device, error] : problems) {
    const bool has_name =
        device.empty() || error.file() == device || error.problem().starts_with(device + " ");
    PrintError(error, has_name ? "" : device + ": ");
  }
}

int ReportPartialResults(const std::vector<std::string>& folders, const char* view_command,
                         const std::string& resume_command) {
  PrintMessage("Interrupted. Partial results are in {}.\n  View:    etprof {} {}\n",
               fmt::format("{}", fmt::join(folders, ", ")), view_command,
               fmt::format("{}", fmt::join(MapEach(folders, ShellQuoted), " ")));
  if (!resume_command.empty()) PrintMessage("  Resume:  {}\n", resume_command);
  return static_cast<int>(ExitCode::kInterrupted);
}

int ReportInterruptions(const std::vector<DeviceMeasurement>& devices, const std::string& resume_command) {
  std::vector<std::string> folders_with_results;
  for (const DeviceMeasurement& device : devices) {
    if (device.error && !device.Interrupted()) ReportProblems({{device.device, *device.error}});
    if (device.measured) folders_with_results.push_back(ShortestPath(device.config.output_root));
  }
  if (!folders_with_results.empty())
    return ReportPartialResults(folders_with_results, "report", resume_command);
  PrintMessage("Interrupted before anything was measured\n");
  return static_cast<int>(ExitCode::kInterrupted);
}

// Shows the report, then the problems. Returns the exit code.
int ShowFinished(const FinishedMeasurement& finished, const View& view, const ShowAnalysis& show) {
  if (finished.report) show(*finished.report);
  if (finished.devices_report)
    ShowDevicesReport(*finished.devices_report, view, ShortestPath(finished.devices_folder));
  ReportProblems(finished.problems);
  return static_cast<int>(finished.exit_code());
}

ShowAnalysis MakeShowReport(const View& view) {
  return
      [&view](const Report& report) { ShowReport(report, view, (report.run.folder / kReportPage).string()); };
}

}  // namespace

std::vector<std::string> ByOptionNames() {
  return MapEach(show::ReportViews(), [](const show::ReportView& view) { return std::string(view.name); });
}

void ShowReport(const Report& report, const View& view, const std::string& details) {
  if (!view.by.empty()) return ShowBreakdown(report, view);
  if (view.HasFiles() ? !WriteDocumentFiles(show::MakeReportDocument(report), view, &report) : view.quiet)
    return FlushStdout();
  if (!view.csv.empty()) {
    ShowTable(report, view.Table());
  } else if (view.json) {
    RenderAnalysisJson(report, std::cout);
  } else {
    RenderTerminal(report, MakeTerminalOptions(view, details), std::cout);
  }
  FlushStdout();
}

void ShowDevicesReport(const DevicesReport& report, const View& view, const std::string& details) {
  const bool shows_result = ShowDocument(show::MakeDeviceComparisonDocument(report), view, details,
                                         [&](std::ostream& out) { RenderDevicesJson(report, out); });
  if (!shows_result || !view.all || view.json || !view.csv.empty()) return;
  for (const Report& run : report.runs) RenderTerminal(run, MakeTerminalOptions(view, ""), std::cout << '\n');
  FlushStdout();
}

void ShowSuite(const SuiteReport& suite, const show::Document& document, const View& view) {
  ShowDocument(document, view, suite,
               ShortestPath(std::filesystem::path(suite.folder) / "suite_report.html"));
}

bool ShowDocument(const show::Document& document, const View& view, const std::string& details,
                  const std::function<void(std::ostream&)>& json) {
  const bool shows_result = WriteDocumentFiles(document, view);
  if (shows_result && view.json) {
    json ? json(std::cout) : RenderDocumentJson(document, std::cout);
  } else if (shows_result && !view.csv.empty()) {
    RenderDocumentCsv(document, view.Table(), std::cout);
  } else if (shows_result) {
    RenderDocumentTerminal(document, MakeTerminalOptions(view, details), std::cout);
  }
  FlushStdout();
  return shows_result;
}

void ShowFile(const std::filesystem::path& file) {
  if (!IsStdout(file)) Print("{}\n", file.string());
}

std::vector<DeviceMeasurement> MeasureAll(const MeasureJobs& jobs, const MeasureRequest& request,
                                          bool dry_run) {
  TerminalProgress progress(jobs.several_devices ? MapEach(jobs.jobs, &MeasureJob::device)
                                                 : std::vector<std::string>());
  return MeasureOnDevices(jobs, request, dry_run, progress);
}

int ReportInterruption(const RunData& run, const std::string& resume_command) {
  return ReportPartialResults({ShortestPath(run.folder)}, "analyze", resume_command);
}

void ReportHistoryAdditions(const HistoryAdditions& added,
                            const std::function<void(const std::string&)>& write) {
  using AddOutcome = HistoryFile::AddOutcome;
  if (added.unknown_commit) {
    PrintMessage(
        "warning: Git does not know commit `{}` here. Its place is that of the measurement's time. Give "
        "`--time` if that is wrong.\n",
        added.commit);
  }
  for (const HistoryAdditions::Run& run : added.runs) {
    for (const std::string& clause : run.omitted_experiments)
      PrintMessage("note: {}: {}\n", run.path, clause);
    for (const SeriesKey& series : run.operator_conflicts) {
      PrintMessage(
          "warning: {}: Its commit has another run of `{}`, with other operators. If that was another model, "
          "give the files different names: both are one series of the history.\n",
          run.path, GetName(series));
    }
    write(fmt::format("{}: {}", EscapeToOneLine(run.path),
                      run.added == AddOutcome::kNew ? "added to commit " + EscapeToOneLine(added.commit)
                      : run.added == AddOutcome::kReplaced ? "replaced, since it has more launches now"
                                                           : "already there, nothing added"));
  }
}

int ReportHistoryUpdates(const std::vector<HistoryUpdate>& updates, const std::string& file, int code) {
  std::int64_t run_count = 0;
  for (const auto& [additions, error] : updates) {
    if (error) {
      PrintError(*error);
      if (code == 0) code = static_cast<int>(error->exit_code());
    }
    if (!additions) continue;
    ReportHistoryAdditions(*additions, [](const std::string& line) { PrintMessage("{}\n", line); });
    run_count = additions->run_count;
  }
  if (run_count > 0) PrintMessage("{}: {}\n", file, CountedText(run_count, "measurement"));
  return code;
}

int MeasureAndShow(const MeasureJobs& jobs, const MeasureRequest& request, const View& view,
                   const ShowAnalysis& show, const std::string& resume_command) {
  if (!show) RequireReportTable(view, jobs.several_devices);
  const std::vector<DeviceMeasurement> devices = MeasureAll(jobs, request);
  if (std::ranges::any_of(devices, &DeviceMeasurement::Interrupted)) {
    // A sustained run cannot be resumed. Devices that could not be reached have no configuration.
    const bool is_sustained = std::ranges::any_of(
        devices, [](const DeviceMeasurement& device) { return device.config.sustained > 0; });
    const std::string command = is_sustained ? "" : resume_command;
    return jobs.several_devices ? ReportInterruptions(devices, command)
                                : ReportInterruption(*devices.front().run, command);
  }
  const int code = ShowFinished(FinishMeasurement(devices, jobs.several_devices, request.resume), view,
                                show ? show : MakeShowReport(view));
  return ReportHistoryUpdates(MapEach(devices, &DeviceMeasurement::history_update), request.history.file,
                              code);
}

int ShowStoredRuns(const std::vector<DeviceMeasurement>& devices, bool several_devices, const View& view) {
  return ShowFinished(FinishMeasurement(devices, several_devices, false), view, MakeShowReport(view));
}

int ShowPlan(const std::vector<DeviceMeasurement>& devices, const MeasureRequest& request, View view) {
  if (std::ranges::any_of(devices, &DeviceMeasurement::Interrupted)) return ReportInterruptions(devices, "");
  FinishedMeasurement planned;
  planned.problems = FindProblems(devices, true);
  ReportProblems(planned.problems);
  const int code = static_cast<int>(planned.exit_code());
  if (std::ranges::all_of(devices, [](const DeviceMeasurement& device) { return device.error.has_value(); }))
    return code;
  view.default_table = "experiments";
  ShowDocument(MakePlanDocument(devices, request), view, "",
               [&](std::ostream& out) { out << JsonText(PlanJson(devices, request), 2) << '\n'; });
  return code;
}

}  // namespace etprof
