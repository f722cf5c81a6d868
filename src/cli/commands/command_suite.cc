#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/gate_options.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/file.h"
#include "say/suite.h"
#include "workflow/suite.h"

namespace etprof {
namespace {

struct SuiteArguments {
  SuiteOptions options;
  View view;
  GateFiles files;
  std::string max_slowdown;
  bool dry_run = false;
};

int Show(const SuiteReport& suite, const SuiteArguments& arguments, const CheckOutputs& files) {
  const say::Document document = say::SaySuite(suite);
  files.Write(say::TestSuiteOf(suite), document);
  ShowSuite(suite, document, arguments.view);
  return static_cast<int>(CodeOf(suite.decision, suite.require_conclusive, suite.error));
}

int RunSuiteCommand(const SuiteArguments& arguments) {
  SuiteOptions options = arguments.options;
  options.max_slowdown = PercentOf("--max-slowdown", arguments.max_slowdown);
  // Before hours of measuring: whether its result can go where it is to go.
  const CheckOutputs files(arguments.files.junit, arguments.files.github_summary);
  if (IsFolder(options.path)) {
    if (arguments.dry_run || options.history.Asked()) {
      throw Error(ExitCode::kUsage, fmt::format("{} is for a suite's file, and this is a folder",
                                                arguments.dry_run ? "--dry-run" : "--history"));
    }
    const SuiteReport suite = [&] {
      TerminalProgress progress;
      return ReadSuiteFolder(options, progress);
    }();
    return Show(suite, arguments, files);
  }
  const SuiteConfig suite = LoadSuite(options);
  if (arguments.dry_run) {
    const say::Document plan = [&] {
      TerminalProgress progress;
      return PlanSuite(suite, options, progress);
    }();
    ShowDocument(plan, arguments.view, "");
    return static_cast<int>(ExitCode::kDone);
  }
  const SuiteOutcome outcome = [&] {
    TerminalProgress progress(DevicesOf(suite, options));
    return RunSuite(suite, options, progress);
  }();
  if (!outcome.interrupted)
    return TellKept(outcome.kept, options.history.file, Show(outcome.report, arguments, files));
  Say("Interrupted. What was measured is in {}.\n  View:    etprof suite {}\n  Resume:  the same command\n",
      FromHere(suite.output_root), FromHere(suite.output_root));
  return static_cast<int>(ExitCode::kInterrupted);
}

}  // namespace

std::function<int()> SuiteCommand(CLI::App& app) {
  const auto arguments = std::make_shared<SuiteArguments>();
  SuiteOptions& options = arguments->options;
  app.add_option("suite", options.path,
                 "Suite's file (docs/guides/suites.md), or its folder: shows what was measured")
      ->required()
      ->type_name("SUITE.json|DIR");
  app.add_flag("--dry-run", arguments->dry_run, "List the cells and how long they take, and measure nothing");
  app.add_option("--output-root", options.output_root,
                 "Suite's folder (default: the file's, or out_<its name>)")
      ->type_name("DIR");
  app.add_option("--max-minutes", options.max_minutes,
                 "Time to measure on each device (default: the file's, or as long as it takes)")
      ->check(CLI::Range(0.01, 1e5))
      ->type_name("MIN");
  app.add_option("--max-seconds", options.max_seconds,
                 "Time for each pair at first (default: the file's, or 60)")
      ->check(CLI::Range(0.1, 1e6))
      ->type_name("S");
  app.add_option("--max-slowdown", arguments->max_slowdown,
                 "Fail if a candidate is slower by more (default: the file's, or not checked)")
      ->type_name("P%");
  app.add_flag("--require-conclusive", options.require_conclusive,
               "Fail if a limit is inconclusive (exit code 1 instead of 5)");
  AddDeviceOptions(app, options.devices, options.use, true);
  app.get_option("--device")->description("Measure on this one of the suite's devices only; may be repeated");
  AddCoolingOptions(app, options.use);
  AddHistoryOptions(app, options.history);
  AddGateFileOptions(app, arguments->files);
  AddViewOptions(app, arguments->view, "Show the result as JSON");
  AddDocumentOptions(app, arguments->view,
                     {"latency", "verdicts", "variants", "limit", "operators", "failures", "cells"});
  return [arguments] { return RunSuiteCommand(*arguments); };
}

}  // namespace etprof
