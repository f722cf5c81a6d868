#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "core/error.h"
#include "core/file/file.h"
#include "measure/store/run_files.h"
#include "show/subjects/run/report.h"
#include "workflow/analyze/analyze.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// More ETDumps or results directories than this are shown as one line per experiment, instead of a screen
// each.
constexpr std::size_t kMaxScreens = 2;

struct AnalyzeArguments {
  std::vector<std::string> paths;
  AnalyzeOptions options;
  View view;
};

int RunAnalyze(const AnalyzeArguments& arguments) {
  const auto& [paths, options, view] = arguments;
  std::vector<fs::path> folders, files;
  for (const std::string& path : paths) (IsFolder(path) ? folders : files).emplace_back(path);
  const char* single_report_option = view.json                 ? "`--json` shows"
                                     : !view.csv.empty()       ? "`--csv` shows"
                                     : view.HasFiles()         ? "a file is of"
                                     : !options.output.empty() ? "`-o` takes"
                                                               : nullptr;
  if (single_report_option != nullptr && folders.size() + (files.empty() ? 0 : 1) > 1) {
    throw Error(ExitCode::kUsage, fmt::format("{} one report, and several are given", single_report_option))
        .Remedy("give one results directory, or files");
  }
  if (!options.model.empty() && files.empty()) {
    throw Error(ExitCode::kUsage, "`--model` is not used: a results directory names its own programs")
        .Remedy("leave it out");
  }
  const bool as_list =
      paths.size() > kMaxScreens && !view.json && view.csv.empty() && view.by.empty() && !view.HasFiles();
  show::Document lines;
  bool is_first = true;
  const auto show = [&, &view = view](const Report& report, const std::string& name,
                                      const std::string& more) {
    if (as_list) return show::AddExperiments(report, name, lines);
    if (!is_first && !view.quiet) std::cout << '\n';
    is_first = false;
    ShowReport(report, view, more);
  };
  for (const fs::path& folder : folders) {
    const fs::path& written = options.output.empty() ? folder : options.output;
    show(AnalyzeRunDirectory(folder, options), folder.lexically_normal().string(),
         (written / kReportPage).string());
  }
  if (!files.empty()) {
    show(AnalyzeTraces(files, options), "",
         options.output.empty() ? "-o DIR writes the report and a table of every operator and event"
                                : (options.output / kReportPage).string());
  }
  if (as_list) ShowDocument(lines, view, "");
  return 0;
}

}  // namespace

std::function<int()> AnalyzeCommand(CLI::App& app) {
  const auto arguments = std::make_shared<AnalyzeArguments>();
  auto& [paths, options, view] = *arguments;
  AddAlias(app, "--run-dir,--etdump,--timeline-csv",
           app.add_option("path", paths, "ETDump files, timeline CSVs, or results directories")->required());
  AddOption(app, "-o,--out-dir DIR", options.output,
            "Folder for tables and reports (default: those of a results directory are regenerated in it, and "
            "nothing is written for an ETDump)");
  app.add_flag_callback(
      "--no-timeline", [arguments] { arguments->options.timeline = false; },
      "Omit the CSV files with one row per event");
  app.add_option("--model", options.model,
                 "Program (.pte) that wrote the ETDump files, for layers and MACs (a results directory names "
                 "its own)")
      ->check(CLI::ExistingFile);
  app.add_option("--etrecord", options.read.etrecord,
                 "File that maps operators to layers (default: MODEL.pte.etrecord)")
      ->check(CLI::ExistingFile);
  AddViewOptions(app, view, "Show the report as JSON", "operators", ByOption::kYes);
  AddTimeScaleOption(app, options.read.etdump);
  app.add_flag("-q,--quiet", view.quiet, "Write the files without showing anything");
  return [arguments] { return RunAnalyze(*arguments); };
}

}  // namespace etprof
