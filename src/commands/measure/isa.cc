#include <memory>

#include "commands/analyze/analyze.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "measure/store/run_files.h"
#include "show/subjects.h"

namespace etprof {
namespace {

struct IsaArguments {
  LadderOptions options;  // the model may be a ladder's results directory; empty: show the CPU's features
  View view;
  bool widest = false;
};

int ShowFeatures(const IsaArguments& arguments) {
  const CpuFeatures cpu = WithProgress(ReadCpuFeatures, arguments.options);
  if (arguments.widest) {
    if (cpu.widest) Print("{}\n", cpu.widest->name);
    return 0;
  }
  ShowDocument(show::MakeCpuFeaturesDocument(cpu), arguments.view, cpu);
  return 0;
}

// Shows the whole report. Throws Error if the run is not a ladder.
void ShowLadder(const Report& report, const std::filesystem::path& folder, const View& view) {
  if (!report.ladder) {
    throw Error(ExitCode::kBadInput, "is not a run of `etprof isa`")
        .InFile(folder.string())
        .Remedy("run `etprof isa MODEL.pte`, or show any run with `etprof analyze`");
  }
  ShowReport(report, view, (folder / kReportPage).string());
}

int RunIsa(const IsaArguments& arguments) {
  const std::string& model_or_run = arguments.options.model;
  if (arguments.options.history.IsRequested() && (model_or_run.empty() || IsFolder(model_or_run))) {
    throw Error(ExitCode::kUsage, "`--history` adds what is measured, and this measures nothing")
        .Remedy("give a model, or add an earlier run with `etprof history add RUN`");
  }
  if (model_or_run.empty()) return ShowFeatures(arguments);
  if (arguments.widest)
    throw Error(ExitCode::kUsage, "`--widest` shows what the CPU has, and takes no model")
        .Remedy("leave out the model");
  if (!IsFolder(model_or_run))
    return MeasureAndShow(MakeJobs(arguments.options), arguments.options, arguments.view);
  ShowLadder(MakeReport(OpenRunDirectory(model_or_run), {.join = false}), model_or_run, arguments.view);
  return 0;
}

}  // namespace

std::function<int()> IsaCommand(CLI::App& app) {
  const auto arguments = std::make_shared<IsaArguments>();
  LadderOptions& options = arguments->options;
  AddOption(app, "what MODEL.pte|RUN", options.model,
            "Model to measure at every feature level of the CPU, or the results directory of such a "
            "measurement to show (default: show what the CPU has)");
  app.add_flag("--widest", arguments->widest,
               "Print only the name of the widest extension (nothing if there is none)");
  AddDescribedOptions(app, options);
  SetMeasureTexts({.max_seconds = "15 for each level and number of threads, at least 60",
                   .threads = "1; several measure every level with each",
                   .output_root = "out_<model>/runs/<platform>-isa"},
                  app);
  AddViewOptions(app, arguments->view, "Show what the CPU has, or the analysis, as JSON", "ladder");
  return [arguments, &app] {
    if (const std::string& run = arguments->options.model; IsFolder(run))
      RefuseMeasurementOptions(app, run, {"--widest", "--history"});
    return RunIsa(*arguments);
  };
}

}  // namespace etprof
