#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "show/subjects.h"
#include "workflow/measure/quicktest.h"

namespace etprof {
namespace {

struct QuickTestArguments {
  QuickTestOptions options;
  std::string platform;
  View view;
};

// Runs the test. Progress goes to stderr, and if JSON is shown, so do failures.
QuickTestResult RunSteps(QuickTestOptions options, const View& view) {
  TerminalProgress progress;
  QuickTest test(std::move(options), progress);
  while (const QuickTestStep* step = test.Next()) {
    // A script that stores the JSON in a file still sees why the test stopped.
    if (view.json && step->state == QuickTestStep::State::kFailed)
      progress.Message(
          fmt::format("error: {}: {}", step->name, Error(ExitCode::kDone, step->message).Message()));
  }
  return test.result();
}

int RunQuickTest(const QuickTestArguments& arguments) {
  QuickTestOptions options = arguments.options;
  if (arguments.platform == "android" && options.device.starts_with("ssh:")) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("`--platform android` needs adb, but `--device {}` does not use it", options.device))
        .Remedy("give only one of the two");
  }
  if (arguments.platform == "android" && options.device == "local") options.device = "adb";
  const QuickTestResult result = RunSteps(std::move(options), arguments.view);
  ShowDocument(show::MakeQuickTestDocument(result), arguments.view, result);
  return result.exit_code();
}

}  // namespace

std::function<int()> QuickTestCommand(CLI::App& app) {
  const auto arguments = std::make_shared<QuickTestArguments>();
  AddDescribedOptions(app, arguments->options);
  app.get_option("--model")->check(CLI::ExistingFile);
  app.add_option("--platform", arguments->platform)  // of the SME2 profiling kit: android is --device adb
      ->check(CLI::IsMember({"mac", "linux", "android"}))
      ->group("");
  AddDocumentOptions(app, arguments->view, "Show the steps as JSON", {show::MakeQuickTestDocument({})});
  return [arguments] { return RunQuickTest(*arguments); };
}

}  // namespace etprof
