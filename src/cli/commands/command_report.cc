#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "show/formats/report.h"
#include "show/gates.h"
#include "workflow/analyze/report.h"
#include "workflow/measure/suite.h"

namespace etprof {
namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out, title;
  View view;
  bool brief = false;
};

void ReportSeveral(const ReportArguments& arguments) {
  const View& view = arguments.view;
  for (const std::string& run : arguments.runs) {
    if (!IsSuiteFolder(run)) continue;
    throw Error(ExitCode::kUsage, "is a suite's folder, which has a report of its own")
        .InFile(run)
        .Remedy("give it alone, or the results directories in its runs/");
  }
  DevicesReport report = ReadDevices(arguments.runs);
  report.title = arguments.title;
  if (view.json || !view.csv.empty() || view.all || view.HasFiles())
    return ShowDevicesReport(report, view, "");
  ShowFile(ShortestPath(WriteDevices(report, arguments.out, WriteOutput)));
}

void ReportSuite(const ReportArguments& arguments) {
  const View& view = arguments.view;
  SuiteOptions options;
  options.path = arguments.runs.front();
  SuiteReport suite = WithProgress(ReadSuiteFolder, options);
  if (!arguments.title.empty()) suite.name = arguments.title;
  if (view.json || !view.csv.empty() || view.all || view.HasFiles())
    return ShowSuite(suite, show::MakeSuiteDocument(suite), view);
  for (const std::filesystem::path& file : WriteSuite(suite, arguments.out, WriteOutput))
    ShowFile(ShortestPath(file));
}

void RunReport(const ReportArguments& arguments) {
  const auto& [runs, out, title, view, brief] = arguments;
  const bool several = runs.size() > 1, suite = !several && IsSuiteFolder(runs.front());
  if ((several || suite) && (brief || !view.by.empty()))
    throw Error(ExitCode::kUsage, fmt::format("`{}` is for one run", brief ? "--brief" : "--by"))
        .Remedy("give one run");
  if (several) return ReportSeveral(arguments);
  if (suite) return ReportSuite(arguments);
  if (brief && view.HasFiles())
    throw Error(ExitCode::kUsage, "`--brief` is a separate form").Remedy("give its file as `--out FILE`");
  Report report = ReadReport(runs.front());
  report.title = title;
  if (brief && out.empty() && !view.json) {
    RenderBriefMarkdown(report, std::cout);
  } else if (view.json || !view.csv.empty() || !view.by.empty() || view.all || view.HasFiles()) {
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
  return [arguments] {
    RunReport(*arguments);
    return 0;
  };
}

}  // namespace etprof
