#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/gate_options.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "show/gates.h"
#include "workflow/measure/suite.h"

namespace etprof {
namespace {

struct SuiteArguments {
  SuiteOptions options;
  View view;
  CheckOutputs files;
  bool dry_run = false;
};

int Show(const SuiteReport& suite, const SuiteArguments& arguments, const CheckOutputs& files) {
  const show::Document document = show::MakeSuiteDocument(suite);
  files.Write(show::MakeTestSuite(suite), document);
  ShowSuite(suite, document, arguments.view);
  return static_cast<int>(GateExitCode(suite.decision, suite.require_conclusive, suite.error));
}

int RunSuiteCommand(const SuiteArguments& arguments) {
  const SuiteOptions& options = arguments.options;
  // Before hours of measuring, check that the result can be written.
  const CheckOutputs files = arguments.files.Resolved();
  RequireDocumentTable(arguments.dry_run ? EmptyPlan() : show::MakeSuiteDocument({}), arguments.view);
  if (IsFolder(options.path)) {
    if (arguments.dry_run || options.history.IsRequested()) {
      throw Error(ExitCode::kUsage, fmt::format("`{}` is for a suite's file, and this is a folder",
                                                arguments.dry_run ? "--dry-run" : "--history"))
          .Remedy("give the suite's file");
    }
    return Show(WithProgress(ReadSuiteFolder, options), arguments, files);
  }
  const SuiteConfig suite = LoadSuite(options);
  if (arguments.dry_run) {
    ShowDocument(WithProgress(PlanSuite, suite, options), arguments.view, "");
    return static_cast<int>(ExitCode::kDone);
  }
  const SuiteOutcome outcome = [&] {
    TerminalProgress progress(SelectedDevices(suite, options));
    return RunSuite(suite, options, progress);
  }();
  if (!outcome.interrupted)
    return ReportHistoryUpdates(outcome.kept, options.history.file, Show(outcome.report, arguments, files));
  PrintMessage(
      "Interrupted. What was measured is in {}.\n  View:    etprof suite {}\n  Resume:  the same command\n",
      ShortestPath(suite.output_root), ShortestPath(suite.output_root));
  return static_cast<int>(ExitCode::kInterrupted);
}

}  // namespace

std::function<int()> SuiteCommand(CLI::App& app) {
  const auto arguments = std::make_shared<SuiteArguments>();
  SuiteOptions& options = arguments->options;
  AddOption(app, "suite SUITE.json|DIR", options.path,
            "File of the suite (docs/guides/suites.md), or its folder, to show what was measured")
      ->required();
  app.add_flag("--dry-run", arguments->dry_run, "List the cells and their expected time without measuring");
  AddDescribedOptions(app, options);
  AddGateFileOptions(app, arguments->files);
  AddDocumentOptions(app, arguments->view, "Show the result as JSON",
                     {show::MakeSuiteDocument({}), EmptyPlan()});
  return [arguments] { return RunSuiteCommand(*arguments); };
}

}  // namespace etprof
