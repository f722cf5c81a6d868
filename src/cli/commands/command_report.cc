#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/file.h"
#include "render/report.h"
#include "say/suite.h"
#include "workflow/report.h"
#include "workflow/suite.h"

namespace etprof {
namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out, title;
  View view;
  bool brief = false;
};

void PrintName(const std::filesystem::path& file) {
  if (!IsStdout(file)) std::cout << file.string() << '\n';
  FlushStdout();
}

void ReportSeveral(const ReportArguments& arguments) {
  const View& view = arguments.view;
  if (arguments.brief || view.all)
    throw Error(ExitCode::kUsage, fmt::format("{} is for one run", arguments.brief ? "--brief" : "--all"));
  for (const std::string& run : arguments.runs) {
    if (!IsSuiteFolder(run)) continue;
    throw Error(ExitCode::kUsage, "is a suite's folder, which has a report of its own")
        .InFile(run)
        .Remedy("give it alone, or the results directories in its runs/");
  }
  DevicesReport report = ReadDevices(arguments.runs);
  report.title = arguments.title;
  if (view.json || !view.csv.empty() || view.HasFiles()) return ShowDevicesReport(report, view, "");
  const std::filesystem::path file = WriteDevices(report, arguments.out);
  PrintName(IsStdout(file) ? file : std::filesystem::path(FromHere(file)));
}

void ReportSuite(const ReportArguments& arguments) {
  const View& view = arguments.view;
  if (arguments.brief || !view.by.empty())
    throw Error(ExitCode::kUsage, fmt::format("{} is for one run", arguments.brief ? "--brief" : "--by"));
  SuiteReport suite = [&] {
    TerminalProgress progress;
    SuiteOptions options;
    options.path = arguments.runs.front();
    return ReadSuiteFolder(options, progress);
  }();
  if (!arguments.title.empty()) suite.name = arguments.title;
  if (view.json || !view.csv.empty() || view.all || view.HasFiles())
    return ShowSuite(suite, say::SaySuite(suite), view);
  for (const std::filesystem::path& file : WriteSuite(suite, arguments.out))
    PrintName(IsStdout(file) ? file : std::filesystem::path(FromHere(file)));
}

int RunReport(const ReportArguments& arguments) {
  const auto& [runs, out, title, view, brief] = arguments;
  if (runs.size() > 1) {
    ReportSeveral(arguments);
    return 0;
  }
  if (IsSuiteFolder(runs.front())) {
    ReportSuite(arguments);
    return 0;
  }
  if (brief && view.HasFiles())
    throw Error(ExitCode::kUsage, "--brief is a form of its own").Remedy("give its file as `--out FILE`");
  Report report = ReadReport(runs.front());
  report.title = title;
  if (brief && out.empty() && !view.json) {
    RenderBriefMarkdown(report, std::cout);
    FlushStdout();
  } else if (view.json) {
    View json;
    json.json = true;
    json.files = view.files;
    ShowReport(report, json, "");
  } else if (!view.csv.empty() || !view.by.empty() || view.all || view.HasFiles()) {
    ShowReport(report, view, "");
  } else {
    for (const std::filesystem::path& file : WriteReport(report, runs.front(), out, brief)) PrintName(file);
  }
  return 0;
}

}  // namespace

std::function<int()> ReportCommand(CLI::App& app) {
  const auto arguments = std::make_shared<ReportArguments>();
  auto& [runs, out, title, view, brief] = *arguments;
  CLI::Option* const run =
      app.add_option(
             "run", runs,
             "Results directory, ETDump file, timeline CSV, or a suite's folder; several runs, e.g., of "
             "several devices, are compared side by side")
          ->required();
  for (const char* name : {"--run-dir", "--mac-dir", "--android-dir"}) AddAlias(app, name, run);
  app.add_option(
         "--out", out,
         "File to write (.html: the page, else Markdown), or its folder (default: report.md and "
         "report.html in the results directory, or beside the ETDump if none are there; of several runs "
         "devices_report.md in the folder that holds them; of a suite suite_report.md, .html, and .json in "
         "its folder)")
      ->type_name("PATH");
  AddAlias(app, "--model-name", app.add_option("--title", title, "Heading (default: the model's name)"));
  app.add_flag("--brief", brief, "Write the short form, for a comment on a pull request, to stdout or --out");
  AddViewOptions(app, view, "Show the report as JSON and write nothing", "operators", ByOption::kYes);
  return [arguments] { return RunReport(*arguments); };
}

}  // namespace etprof
