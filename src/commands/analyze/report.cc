#include "commands/analyze/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/analyze/analysis_files.h"
#include "commands/analyze/analyze.h"
#include "commands/measure/suite.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/text/text.h"
#include "measure/store/run_files.h"
#include "show/formats.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"
#include "show/gates.h"
#include "show/subjects.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;

constexpr const char* kDevicesFile = "devices_report.md";

fs::path CommonParent(const std::vector<Report>& runs) {
  fs::path common;
  for (const Report& report : runs) {
    const fs::path parent =
        fs::absolute(report.run.folder / "").lexically_normal().parent_path().parent_path();
    if (!common.empty() && parent != common) return fs::current_path();
    common = parent;
  }
  return common.empty() ? fs::current_path() : common;
}

fs::path DevicesReportFile(const DevicesReport& report, const std::string& out) {
  if (out.empty()) return CommonParent(report.runs) / kDevicesFile;
  return IsFolderPath(out) ? fs::path(out) / kDevicesFile : fs::path(out);
}

// Throws Error (kUsage) if the report over devices would replace a file that no such report wrote: a JSON
// with other contents, or, if the user did not name the report's file, a file without that JSON next to it.
void RequireDevicesReport(const fs::path& file, bool is_named) {
  const fs::path json_file = fs::path(file).replace_extension(".json");
  const auto refuse = [](const fs::path& foreign_file) {
    return Error(ExitCode::kUsage, "is not overwritten: it is not an earlier report over several runs")
        .InFile(foreign_file.string())
        .Remedy("give `--out FILE` with another name");
  };
  if (!Exists(json_file)) {
    if (!is_named && Exists(file)) throw refuse(file);
    return;
  }
  const nlohmann::json json = ParseJson(ReadTextFile(json_file));
  if (!json.is_object() || !json.contains("devices") || !json.contains("models")) throw refuse(json_file);
}

}  // namespace

bool IsHtmlFile(const fs::path& file) { return Lower(file.extension().string()) == ".html"; }

bool IsFolderPath(const std::string& out) { return IsFolder(out) || out.ends_with('/'); }

Report MakeReportFromPath(const std::string& path) {
  RunData run = OpenRun({path});
  if (!Exists(fs::path(path) / kAnalysisFile))
    return MakeReport(std::move(run), {.tolerant = IsFolder(path)});
  OutputFolders folders;
  folders.report = path;
  folders.write_timelines = std::ranges::any_of(run.experiments, &ExperimentData::HasTimelineCsv);
  folders.write = [](const fs::path&, const std::function<void(std::ostream&)>&) {};
  return AnalyzeAndWrite(std::move(run), folders);
}

std::vector<fs::path> WriteReport(const Report& report, const std::string& path, const std::string& out,
                                  bool brief, const FileWriter& write) {
  fs::path folder = out;
  if (out.empty()) folder = IsFolder(path) ? fs::path(path) : fs::path(path).parent_path();
  std::vector<fs::path> files = {folder};
  if (out.empty() || IsFolderPath(out)) {
    files = {folder / kReportFile, folder / kReportPage};
    if (brief) files = {folder / "report_brief.md"};
  }
  if (out.empty()) RefuseForeignReports(folder, "--out");
  for (const fs::path& file : files) {
    write(file, [&](std::ostream& stream) {
      (brief ? RenderBriefMarkdown : IsHtmlFile(file) ? RenderHtml : RenderMarkdown)(report, stream);
    });
  }
  return files;
}

fs::path WriteDevicesReport(const DevicesReport& report, const std::string& out, const FileWriter& write) {
  const fs::path file = DevicesReportFile(report, out);
  const show::Document document = show::MakeDeviceComparisonDocument(report);
  write(file, [&](std::ostream& stream) {
    IsHtmlFile(file) ? RenderDocumentHtml(document, stream) : RenderDocumentMarkdown(document, 1, stream);
  });
  if (IsStdout(file)) return file;
  fs::path json = file;
  json.replace_extension(".json");
  write(json, [&](std::ostream& stream) { RenderDevicesJson(report, stream); });
  return file;
}

namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out, title;
  View view;
  bool brief = false;
};

// Reads the results directories of several devices, or of one device at several times, for a comparison.
DevicesReport ReadDevices(const std::vector<std::string>& paths) {
  std::vector<Report> reports;
  for (const std::string& path : paths) {
    reports.push_back(MakeReportFromPath(path));
    if (reports.back().run.folder.empty()) reports.back().run.folder = path;
  }
  return AssembleDevicesReport(std::move(reports));
}

void ReportDevices(const ReportArguments& arguments) {
  const View& view = arguments.view;
  for (const std::string& run : arguments.runs) {
    if (!IsSuiteFolder(run)) continue;
    throw Error(ExitCode::kUsage, "is a suite's folder, which has a report of its own")
        .InFile(run)
        .Remedy("give it alone, or the results directories in its runs/");
  }
  DevicesReport report = ReadDevices(arguments.runs);
  report.title = arguments.title;
  if (view.HasSelection()) return ShowDevicesReport(report, view, "");
  const std::string& out = arguments.out;
  if (const fs::path file = DevicesReportFile(report, out); !IsStdout(file))
    RequireDevicesReport(file, !out.empty() && !IsFolderPath(out));
  ShowFile(ShortestPath(WriteDevicesReport(report, out, WriteOutput)));
}

void ReportSuite(const ReportArguments& arguments) {
  const View& view = arguments.view;
  SuiteOptions options;
  options.path = arguments.runs.front();
  SuiteReport suite = WithProgress(ReadSuiteFolder, options);
  if (!arguments.title.empty()) suite.name = arguments.title;
  if (view.HasSelection()) return ShowSuite(suite, show::MakeSuiteDocument(suite), view);
  for (const std::filesystem::path& file : WriteSuite(suite, arguments.out, WriteOutput))
    ShowFile(ShortestPath(file));
}

void RunReport(const ReportArguments& arguments) {
  const auto& [runs, out, title, view, brief] = arguments;
  const bool has_several_runs = runs.size() > 1, is_suite = !has_several_runs && IsSuiteFolder(runs.front());
  if ((has_several_runs || is_suite) && (brief || !view.by.empty()))
    throw Error(ExitCode::kUsage, fmt::format("`{}` is for one run", brief ? "--brief" : "--by"))
        .Remedy("give one run");
  if (has_several_runs) return ReportDevices(arguments);
  if (is_suite) return ReportSuite(arguments);
  Report report = MakeReportFromPath(runs.front());
  report.title = title;
  if (brief && out.empty()) {
    RenderBriefMarkdown(report, std::cout);
  } else if (view.HasSelection()) {
    ShowReport(report, view, "");
  } else {
    for (const std::filesystem::path& file : WriteReport(report, runs.front(), out, brief, WriteOutput))
      ShowFile(file);
  }
}

}  // namespace

std::function<int()> ReportCommand(CLI::App& app) {
  const auto arguments = std::make_shared<ReportArguments>();
  auto& [runs, out, title, view, brief] = *arguments;
  CLI::Option* const run =
      app.add_option("run", runs,
                     "Results directory, ETDump file, timeline CSV, or a suite's folder. Several runs, e.g., "
                     "of several devices, are shown side by side")
          ->required();
  for (const char* name : {"--run-dir", "--mac-dir", "--android-dir"}) AddAlias(app, name, run);
  AddOption(
      app, "--out PATH", out,
      "File to write (.html for the page, else Markdown), or its folder (default: report.md and report.html "
      "in the results directory, or next to an ETDump that has none yet; devices_report.md for several runs, "
      "in the folder that has them all; suite_report.md, .html, and .json for a suite, in its folder)");
  AddAlias(app, "--model-name", app.add_option("--title", title, "Heading (default: the model's name)"));
  app.add_flag("--brief", brief, "Write a short form, for a comment on a pull request, to stdout or --out");
  AddViewOptions(app, view, "Show the report as JSON and write nothing", "operators", ByOption::kYes);
  std::vector<std::string> view_options = ViewOptionNames();
  view_options.push_back("--by");
  for (const std::string& option : view_options) {
    for (const char* const form : {"--out", "--brief"})
      app.get_option(form)->excludes(app.get_option(option));
  }
  return [arguments] {
    RunReport(*arguments);
    return 0;
  };
}

}  // namespace etprof
