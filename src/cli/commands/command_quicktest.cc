#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/json/json_members.h"
#include "say/subjects.h"
#include "workflow/measure/quicktest.h"

namespace etprof {
namespace {

struct QuickTestArguments {
  std::string outdir = "out_quick_test", device = "local", platform, model;
  View view;
};

// Its progress, and where JSON is shown what failed, on stderr.
QuickTestResult Test(QuickTestOptions options, const View& view) {
  TerminalProgress progress;
  QuickTest test(std::move(options), progress);
  while (const QuickTestStep* step = test.Next()) {
    // A script that keeps the JSON in a file sees why it stopped.
    if (view.json && step->state == QuickTestStep::State::kFailed)
      progress.Message(
          fmt::format("error: {}: {}", step->name, Error(ExitCode::kDone, step->said).Message()));
  }
  return test.result();
}

int RunQuickTest(const QuickTestArguments& arguments) {
  if (arguments.platform == "android" && arguments.device.starts_with("ssh:")) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("`--platform android` needs adb, but `--device {}` does not use it", arguments.device))
        .Remedy("give only one of the two");
  }
  const bool adb = arguments.platform == "android" && arguments.device == "local";
  const QuickTestResult result = Test({std::filesystem::absolute(arguments.outdir).lexically_normal(),
                                       adb ? "adb" : arguments.device, arguments.model},
                                      arguments.view);
  ShowDocument(say::SayQuickTest(result), arguments.view, "",
               [&](std::ostream& out) { WriteJson(result, 2, out); });
  return result.exit_code();
}

}  // namespace

std::function<int()> QuickTestCommand(CLI::App& app) {
  const auto arguments = std::make_shared<QuickTestArguments>();
  AddOption(app, "--outdir DIR", arguments->outdir, "Folder for everything (default: out_quick_test)");
  AddOption(app, "--model MODEL.pte", arguments->model, "Program to use instead of exporting toy_cnn",
            CLI::ExistingFile);
  AddOption(app, "--device DEVICE", arguments->device,
            "Device to measure on: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT (default: local)");
  app.add_option("--platform", arguments->platform)  // the SME2 profiling kit's: android is --device adb
      ->check(CLI::IsMember({"mac", "linux", "android"}))
      ->group("");
  app.add_flag("--json", arguments->view.json, "Show the steps as JSON");
  AddDocumentOptions(app, arguments->view, {say::SayQuickTest({})});
  return [arguments] { return RunQuickTest(*arguments); };
}

}  // namespace etprof
