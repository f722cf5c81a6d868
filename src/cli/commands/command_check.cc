#include <memory>

#include "cli/commands.h"
#include "cli/gate_options.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/terminal_progress.h"
#include "measure/store/run_files.h"
#include "report/run/stored_runs.h"
#include "show/gates.h"
#include "workflow/check.h"
#include "workflow/finish.h"

namespace etprof {
namespace {

struct CheckArguments {
  CheckOptions options;
  View view;
  CheckOutputs files;
  bool is_static = false;
  StaticCheckOptions programs;
};

int RunCheck(const CheckArguments& arguments) {
  if (arguments.is_static)
    return RunStaticCheck(arguments.options, arguments.programs, arguments.files, arguments.view);
  const CheckOutputs files = arguments.files.Resolved();
  RequireDocumentTable(show::MakeCheckDocument({}), arguments.view);
  const CheckOutcome checked = WithProgress(CheckVariants, arguments.options);
  if (!checked.report) return ReportInterruption(*checked.measured, "the same command with --resume");
  const CheckReport& check = *checked.report;
  std::string more;
  if (checked.measured) {
    for (const Error& error : FindFailedExperiments(*checked.measured)) PrintError(error);
    more = (checked.measured->folder / kReportPage).string();
  }
  const show::Document document = show::MakeCheckDocument(check);
  files.Write(show::MakeTestSuite(check), document);
  ShowDocument(document, arguments.view, check, more);
  return ReportHistoryUpdates(
      {checked.kept}, arguments.options.measure.history.file,
      static_cast<int>(GateExitCode(check.decision, check.require_conclusive, check.error)));
}

}  // namespace

std::function<int()> CheckCommand(CLI::App& app) {
  const auto arguments = std::make_shared<CheckArguments>();
  CheckOptions& options = arguments->options;
  app.add_option("path", options.paths,
                 "Baseline and candidate: two models, two folders of models, or two configurations (measured "
                 "now), or two results directories; or one configuration or results directory with its pairs")
      ->expected(1, 2)
      ->option_text("BASELINE [CANDIDATE]");
  AddOption(app, "--baseline PATH", options.baseline, "Baseline, as above");
  AddOption(app, "--candidate PATH|SPEC", options.candidate,
            "Candidate, as above, or how it differs from the baseline: isa=-avx2, threads=2, runner=PATH");
  AddOption(app, "--allow-mismatch NAME", options.allowed,
            "Condition in which two stored runs may differ. May be repeated", CLI::IsMember(MismatchNames()))
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  AddDescribedOptions(app, options);
  SetMeasureTexts({.max_seconds = "60 for each pair, 120 with --generate",
                   .launches = "10 to 160, until every check is decided",
                   .threads = "1, or the configuration's",
                   .output_root = "out_<model>/runs/<platform>",
                   .several_threads = false},
                  app);
  AddGateFileOptions(app, arguments->files);
  AddDocumentOptions(app, arguments->view, "Show the result as JSON",
                     {show::MakeCheckDocument({}), show::MakeStaticCheckDocument({})});
  CLI::Option* is_static = app.add_flag("--static", arguments->is_static,
                                        "Compare two programs without running them: delegation, SME2, "
                                        "memory, and size. No option of a measurement goes with it");
  AddThresholdsOption(app, arguments->programs);
  app.get_option("--thresholds")->needs(is_static);
  std::vector<std::string> allowed = ViewOptionNames();
  allowed.insert(allowed.end(), {"path", "--baseline", "--candidate", "--require-conclusive", "--thresholds",
                                 "--junit", "--github-summary", "--help"});
  ExcludeOthers(app, is_static, allowed);
  return [arguments] { return RunCheck(*arguments); };
}

}  // namespace etprof
