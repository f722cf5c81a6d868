#include <iostream>
#include <memory>

#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "cli/csv_option.h"
#include "core/error.h"
#include "core/file.h"
#include "render/json.h"
#include "render/markdown.h"

namespace etprof {
namespace {

struct Arguments {
  std::string run;
  std::string out;
  std::string title;
  std::string csv;
  bool json = false;
};

int Run(const Arguments& arguments) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(arguments.run, ignored);
  RunData run = is_folder ? OpenRunDirectory(arguments.run) : RunOfEtdumps({arguments.run}, {});
  std::vector<std::optional<Profile>> profiles = ProfileRun(run, is_folder);
  Report report = Assemble(std::move(run), std::move(profiles));
  report.title = arguments.title;
  if (arguments.json) {
    ShowReport(report, true, "");
    return static_cast<int>(ExitCode::kDone);
  }
  if (!arguments.csv.empty()) {
    ShowTable(report, arguments.csv);
    return static_cast<int>(ExitCode::kDone);
  }
  std::filesystem::path file = arguments.out;
  if (file.empty())
    file =
        is_folder ? std::filesystem::path(arguments.run) : std::filesystem::path(arguments.run).parent_path();
  if (arguments.out.empty() || std::filesystem::is_directory(file, ignored) || arguments.out.ends_with('/'))
    file /= "report.md";
  WriteFileAtomically(file, [&](std::ostream& out) { RenderMarkdown(report, out); });
  std::cout << file.string() << '\n';
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

CommandSpec ReportCommand() {
  return {"report", "write the report of a run again, from its files",
          "etprof report out_toy_cnn/runs/mac --title \"toy_cnn on a laptop\"",
          [](CLI::App& app) -> std::function<int()> {
            auto arguments = std::make_shared<Arguments>();
            app.add_option("run,--run-dir", arguments->run,
                           "a run directory, an ETDump file or a timeline CSV")
                ->required();
            app.add_option("--out", arguments->out,
                           "the file to write, or its folder; report.md in the run directory without it");
            app.add_option("--title", arguments->title, "the heading, in place of the model's name");
            app.add_flag("--json", arguments->json, "show the report as JSON and write nothing");
            AddCsvOption(app, arguments->csv, "operators");
            return [arguments] { return Run(*arguments); };
          }};
}

}  // namespace etprof
