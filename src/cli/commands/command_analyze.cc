#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/analyze_files.h"
#include "cli/analyze_run.h"
#include "cli/commands.h"
#include "cli/csv_option.h"
#include "cli/stdout_terminal.h"
#include "cli/time_scale.h"
#include "core/error.h"
#include "render/screen/terminal_list.h"

namespace etprof {
namespace {

// More files or run directories than this are told in a line an experiment, not a screen each.
constexpr std::size_t kScreens = 2;

struct AnalyzeArguments {
  std::vector<std::string> paths;
  std::string output;
  std::string csv;
  std::string time_scale = "ns";
  std::string model, etrecord;
  bool no_timeline = false;
  std::string by;
  bool json = false, all = false;
  bool quiet = false;
};

Report AnalyzeFiles(const std::vector<std::filesystem::path>& files, const AnalyzeArguments& arguments,
                    const EtdumpOptions& etdump) {
  RunData run = RunOfEtdumps(files, {});
  run.pairs.clear();
  for (ExperimentData& data : run.experiments) data.model = arguments.model;
  RunPrograms programs(arguments.etrecord);
  if (!arguments.output.empty()) {
    return AnalyzeInto(std::move(run), {arguments.output, arguments.output, !arguments.no_timeline}, false,
                       programs, etdump);
  }
  std::vector<std::optional<Profile>> profiles = ProfileRun(run, false, {}, etdump, &programs);
  return Assemble(std::move(run), std::move(profiles));
}

Report AnalyzeFolder(const std::filesystem::path& folder, const AnalyzeArguments& arguments,
                     const EtdumpOptions& etdump) {
  if (arguments.output.empty())
    return AnalyzeRunDirectory(
        folder, {.timeline = !arguments.no_timeline, .etdump = etdump, .etrecord = arguments.etrecord});
  RunPrograms programs(arguments.etrecord);
  return AnalyzeInto(OpenRunDirectory(folder), {arguments.output, arguments.output, !arguments.no_timeline},
                     true, programs, etdump);
}

void Show(const Report& report, const AnalyzeArguments& arguments, const std::string& more) {
  if (arguments.quiet) return;
  if (!arguments.csv.empty()) {
    ShowTable(report, arguments.csv);
  } else if (!arguments.by.empty()) {
    ShowBy(report, arguments.by, arguments.all);
  } else {
    ShowReport(report, arguments.json, more, arguments.all);
  }
}

int RunAnalyze(const AnalyzeArguments& arguments) {
  std::vector<std::filesystem::path> folders;
  std::vector<std::filesystem::path> files;
  for (const std::string& path : arguments.paths) {
    std::error_code ignored;
    (std::filesystem::is_directory(path, ignored) ? folders : files).emplace_back(path);
  }
  const std::size_t reports = folders.size() + (files.empty() ? 0 : 1);
  const char* one_report = arguments.json              ? "--json shows"
                           : !arguments.csv.empty()    ? "--csv shows"
                           : !arguments.output.empty() ? "-o takes"
                                                       : nullptr;
  if (one_report != nullptr && reports > 1) {
    throw Error(ExitCode::kUsage, fmt::format("{} one report: give one run directory, or files", one_report));
  }
  EtdumpOptions etdump;
  etdump.nanoseconds_per_tick = NanosecondsPerTick(arguments.time_scale);
  const bool list = folders.size() + files.size() > kScreens && !arguments.json && arguments.csv.empty();
  ExperimentList lines;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const Report report = AnalyzeFolder(folders[i], arguments, etdump);
    if (list) {
      lines.Add(report, folders[i].lexically_normal().string());
      continue;
    }
    if (i > 0 && !arguments.quiet) std::cout << '\n';
    const std::filesystem::path written =
        arguments.output.empty() ? folders[i] : std::filesystem::path(arguments.output);
    Show(report, arguments, (written / "report.html").string());
  }
  if (!files.empty()) {
    const Report report = AnalyzeFiles(files, arguments, etdump);
    if (list) {
      lines.Add(report, "");
    } else {
      if (!folders.empty() && !arguments.quiet) std::cout << '\n';
      Show(report, arguments,
           arguments.output.empty() ? "-o DIR writes the report and a table of every operator and event"
                                    : (std::filesystem::path(arguments.output) / "report.html").string());
    }
  }
  if (list && !arguments.quiet) {
    TerminalOptions options = OptionsOfStdout();
    options.all = arguments.all;
    lines.Draw(options, std::cout);
    FlushStdout();
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

CommandSpec AnalyzeCommand() {
  return {
      "analyze", "say where the time goes in an ETDump, or analyse a run directory anew",
      "etprof analyze out_mobilenet_v3_small/runs/linux-x86_64", [](CLI::App& app) -> std::function<int()> {
        auto arguments = std::make_shared<AnalyzeArguments>();
        app.add_option("path,--run-dir,--etdump", arguments->paths,
                       "ETDump files, timeline CSVs, or run directories")
            ->required();
        app.add_option("-o,--out-dir", arguments->output,
                       "write the tables and reports here; without it an ETDump's are only shown, a run "
                       "directory's renewed")
            ->type_name("DIR");
        app.add_flag("--no-timeline", arguments->no_timeline, "leave out the CSV files with a row an event");
        app.add_flag("--json", arguments->json, "show the report as JSON");
        AddCsvOption(app, arguments->csv, "operators");
        app.add_option(
               "--model", arguments->model,
               "of ETDump files: the .pte that ran, for layers and work (a run directory knows its own)")
            ->check(CLI::ExistingFile);
        app.add_option("--etrecord", arguments->etrecord,
                       "says which layers operators belong to [MODEL.pte.etrecord]")
            ->check(CLI::ExistingFile);
        AddByOption(app, arguments->by);
        AddAllOption(app, arguments->all);
        AddTimeScaleOption(app, arguments->time_scale);
        app.add_flag("-q,--quiet", arguments->quiet, "write the files, show nothing");
        return [arguments] { return RunAnalyze(*arguments); };
      }};
}

}  // namespace etprof
