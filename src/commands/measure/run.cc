#include <memory>

#include "commands/terminal/options.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "device/device.h"

namespace etprof {
namespace {

struct RunArguments {
  RunOptions options;
  View view;
  bool analysis_only = false, dry_run = false;
};

std::string ResumeCommand(const RunOptions& options) {
  std::string command = "etprof run " + ShellQuoted(options.config);
  for (const std::string& device : options.devices) command += " --device " + ShellQuoted(device);
  return command + " --resume";
}

int RunRun(const RunArguments& arguments) {
  const auto& [options, view, analysis_only, dry_run] = arguments;
  if (analysis_only && options.history.IsRequested()) {
    throw Error(ExitCode::kUsage, "`--history` adds what is measured, and `--analysis-only` measures nothing")
        .Remedy("add a run that was measured before with `etprof history add RUN`");
  }
  const MeasureJobs jobs = MakeJobs(options);
  if (analysis_only)
    return ShowStoredRuns(WithProgress(FindStoredRuns, jobs, options), jobs.several_devices, view);
  if (dry_run) return ShowPlan(MeasureAll(jobs, options, dry_run), options, view);
  return MeasureAndShow(jobs, options, view, nullptr, ResumeCommand(options));
}

}  // namespace

std::function<int()> RunCommand(CLI::App& app) {
  const auto arguments = std::make_shared<RunArguments>();
  RunOptions& options = arguments->options;
  AddAlias(
      app, "--config",
      AddOption(app, "config CONFIG.json", options.config, "Configuration file (docs/reference/config.md)")
          ->required());
  AddOption(app, "--only EXP", options.only_experiments, "Measure only these experiments")->expected(1, -1);
  CLI::Option* const analysis_only = app.add_flag("--analysis-only", arguments->analysis_only,
                                                  "Analyze what was measured before, and measure nothing");
  app.add_flag("--dry-run", arguments->dry_run,
               "Check the configuration and show what would be measured, and for how long");
  AddDescribedOptions(app, options);
  SetMeasureTexts({.max_seconds = "60 for each pair",
                   .threads = "the configuration's",
                   .output_root = "the configuration's",
                   .several_devices = true},
                  app);
  ExcludeOtherOptions(app, analysis_only,
                      {"config", "--config", "--only", "--output-root", "--device", "--wait-for-device",
                       "--history", "--commit", "--reference", "--device-name", "--help"});
  AddViewOptions(app, arguments->view, "Show the analysis, or with --dry-run the plan, as JSON", "operators");
  return [arguments] { return RunRun(*arguments); };
}

}  // namespace etprof
