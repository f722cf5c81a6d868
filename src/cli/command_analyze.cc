#include <iostream>
#include <memory>

#include "cli/analyze_files.h"
#include "cli/analyze_run.h"
#include "cli/commands.h"
#include "core/error.h"

namespace etprof {
namespace {

struct Arguments {
  std::vector<std::string> paths;
  std::string output;
  bool no_timeline = false;
  bool json = false;
  bool quiet = false;
};

Report AnalyzeEtdumps(const std::vector<std::filesystem::path>& files, const Arguments& arguments) {
  RunData run = RunOfEtdumps(files, {});
  run.pairs.clear();
  if (!arguments.output.empty()) {
    return AnalyzeInto(std::move(run), {arguments.output, arguments.output, !arguments.no_timeline}, false);
  }
  std::vector<std::optional<Profile>> profiles = ProfileRun(run, false);
  return Assemble(std::move(run), std::move(profiles));
}

int Run(const Arguments& arguments) {
  std::vector<std::filesystem::path> folders;
  std::vector<std::filesystem::path> files;
  for (const std::string& path : arguments.paths) {
    std::error_code ignored;
    (std::filesystem::is_directory(path, ignored) ? folders : files).emplace_back(path);
  }
  const std::size_t reports = folders.size() + (files.empty() ? 0 : 1);
  if (arguments.json && reports > 1) {
    throw Error(ExitCode::kUsage, "--json shows one report: give one run directory, or ETDump files");
  }
  if (!arguments.output.empty() && reports > 1) {
    throw Error(ExitCode::kUsage, "-o takes one report: give one run directory, or ETDump files");
  }
  const auto show = [&](const Report& report, const std::string& more) {
    if (!arguments.quiet) ShowReport(report, arguments.json, more);
  };
  const std::string report_file =
      arguments.output.empty() ? "" : (std::filesystem::path(arguments.output) / "report.md").string();
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (i > 0) std::cout << '\n';
    if (report_file.empty()) {
      AnalyzeAndShow(folders[i], {arguments.json, !arguments.no_timeline, arguments.quiet});
    } else {
      show(AnalyzeInto(OpenRunDirectory(folders[i]),
                       {arguments.output, arguments.output, !arguments.no_timeline}, true),
           report_file);
    }
  }
  if (!files.empty()) {
    if (!folders.empty()) std::cout << '\n';
    const std::string more = "-o DIR writes the report and a table of every operator and event";
    show(AnalyzeEtdumps(files, arguments), report_file.empty() ? more : report_file);
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

CommandSpec AnalyzeCommand() {
  return {
      "analyze", "say where the time goes in an ETDump, or analyse a run directory anew",
      "etprof analyze out_mobilenet_v3_small/runs/linux-x86_64", [](CLI::App& app) -> std::function<int()> {
        auto arguments = std::make_shared<Arguments>();
        app.add_option("path,--run-dir,--etdump", arguments->paths, "ETDump files, or run directories")
            ->required();
        app.add_option("-o,--out-dir", arguments->output,
                       "write the tables and reports here; without it an ETDump's are only shown, a run "
                       "directory's renewed");
        app.add_flag("--no-timeline", arguments->no_timeline, "leave out the CSV files with a row an event");
        app.add_flag("--json", arguments->json, "show the report as JSON");
        app.add_flag("-q,--quiet", arguments->quiet, "write the files, show nothing");
        return [arguments] { return Run(*arguments); };
      }};
}

}  // namespace etprof
