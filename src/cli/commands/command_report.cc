#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>

#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "cli/csv_option.h"
#include "cli/devices_report.h"
#include "cli/stdout_terminal.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "render/json/json.h"
#include "render/page/html.h"
#include "render/page/markdown.h"

namespace etprof {
namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string mac_run, android_run;  // as the profiling kit's combined report names them
  std::string out;
  std::string title;
  std::string csv;
  std::string by;
  bool json = false, all = false;
  bool brief = false;
};

Report ReadRun(const std::string& path, bool* is_folder) {
  std::error_code ignored;
  *is_folder = std::filesystem::is_directory(path, ignored);
  RunPrograms programs;
  RunData run = *is_folder ? OpenRunDirectory(path) : RunOfEtdumps({path}, {});
  if (Exists(std::filesystem::path(path) / "analysis_summary.json")) {
    // The report as `etprof analyze` made it, with its list of files, without writing the others.
    OutputFolders folders;
    folders.report = path;
    folders.timeline = std::ranges::any_of(run.experiments, &ExperimentData::HasTimelineCsv);
    folders.write = [](const std::filesystem::path&, const std::function<void(std::ostream&)>&) {};
    return AnalyzeInto(std::move(run), folders, /*tolerant=*/true, programs);
  }
  std::vector<std::optional<Profile>> profiles = ProfileRun(run, *is_folder, {}, {}, &programs);
  return Assemble(std::move(run), std::move(profiles));
}

int RunSeveral(const std::vector<std::string>& runs, const ReportArguments& arguments) {
  if (!arguments.csv.empty())
    throw Error(ExitCode::kUsage, "--csv shows a table of one run").Remedy("use --json for several");
  if (arguments.brief || arguments.all)
    throw Error(ExitCode::kUsage, fmt::format("{} is for one run", arguments.brief ? "--brief" : "--all"));
  std::vector<Report> reports;
  for (const std::string& path : runs) {
    bool is_folder = false;
    reports.push_back(ReadRun(path, &is_folder));
    if (reports.back().run.folder.empty()) reports.back().run.folder = path;
  }
  WriteAndShowDevices(std::move(reports), {.json = arguments.json,
                                           .only_json = arguments.json,
                                           .quiet = true,
                                           .out = arguments.out,
                                           .title = arguments.title});
  return static_cast<int>(ExitCode::kDone);
}

int RunReport(const ReportArguments& arguments) {
  std::vector<std::string> runs = arguments.runs;
  for (const std::string& run : {arguments.mac_run, arguments.android_run}) {
    if (!run.empty()) runs.push_back(run);
  }
  if (runs.empty()) throw Error(ExitCode::kUsage, "no run is given").Remedy("run `etprof report RUN...`");
  if (runs.size() > 1) return RunSeveral(runs, arguments);
  const std::string& path = runs.front();
  bool is_folder = false;
  Report report = ReadRun(path, &is_folder);
  report.title = arguments.title;
  if (arguments.json) {
    ShowReport(report, true, "");
    return static_cast<int>(ExitCode::kDone);
  }
  if (arguments.brief && arguments.out.empty()) {
    RenderBriefMarkdown(report, std::cout);
    FlushStdout();
    return static_cast<int>(ExitCode::kDone);
  }
  if (!arguments.csv.empty()) {
    ShowTable(report, arguments.csv);
    return static_cast<int>(ExitCode::kDone);
  }
  if (arguments.all && arguments.by.empty()) {
    ShowReport(report, false, "", true);
    return static_cast<int>(ExitCode::kDone);
  }
  if (!arguments.by.empty()) {
    ShowBy(report, arguments.by, arguments.all);
    return static_cast<int>(ExitCode::kDone);
  }
  std::error_code ignored;
  std::filesystem::path file = arguments.out;
  if (file.empty())
    file = is_folder ? std::filesystem::path(path) : std::filesystem::path(path).parent_path();
  std::vector<std::filesystem::path> files = {file};
  const bool into_folder =
      arguments.out.empty() || std::filesystem::is_directory(file, ignored) || arguments.out.ends_with('/');
  if (arguments.brief) {
    if (into_folder) files = {file / "report_brief.md"};
    WriteOutput(files.front(), [&](std::ostream& out) { RenderBriefMarkdown(report, out); });
    if (!IsStdout(files.front())) std::cout << files.front().string() << '\n';
    FlushStdout();
    return static_cast<int>(ExitCode::kDone);
  }
  if (into_folder) files = {file / "report.md", file / "report.html"};
  for (const std::filesystem::path& one : files) {
    const bool page = Lower(one.extension().string()) == ".html";
    WriteOutput(one, [&](std::ostream& out) { (page ? RenderHtml : RenderMarkdown)(report, out); });
    if (!IsStdout(one)) std::cout << one.string() << '\n';
  }
  FlushStdout();
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

CommandSpec ReportCommand() {
  return {
      "report", "write the report of a run again, from its files; of several runs the report over devices",
      "etprof report out_toy_cnn/runs/mac --title \"toy_cnn on a laptop\"",
      [](CLI::App& app) -> std::function<int()> {
        auto arguments = std::make_shared<ReportArguments>();
        app.add_option("run,--run-dir", arguments->runs,
                       "a run directory, an ETDump file or a timeline CSV; several, as of several devices, "
                       "are told side by side");
        app.add_option("--mac-dir", arguments->mac_run, "one more run, as the profiling kit names it")
            ->type_name("RUN");
        app.add_option("--android-dir", arguments->android_run, "one more run")->type_name("RUN");
        app.add_option(
               "--out", arguments->out,
               "the file to write (.html: the page, else Markdown), or its folder; without it report.md and "
               "report.html in the run directory, of several runs devices_report.md in the folder that holds "
               "them")
            ->type_name("PATH");
        app.add_option("--title,--model-name", arguments->title, "the heading, in place of the model's name");
        app.add_flag("--json", arguments->json, "show the report as JSON and write nothing");
        app.add_flag("--brief", arguments->brief,
                     "the short form, as a comment on a pull request: on stdout, or in --out");
        AddCsvOption(app, arguments->csv, "operators");
        AddByOption(app, arguments->by);
        app.add_flag("--all", arguments->all,
                     "show the report on the terminal, all of it, and write nothing");
        return [arguments] { return RunReport(*arguments); };
      }};
}

}  // namespace etprof
