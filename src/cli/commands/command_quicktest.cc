#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json_members.h"
#include "workflow/measure/quicktest.h"

namespace etprof {
namespace {

using StepState = QuickTestStep::State;

struct QuickTestArguments {
  std::string outdir = "out_quick_test", device = "local", platform, model;
  bool json = false;
};

constexpr NamedValue<StepState> kWords[] = {
    {StepState::kPassed, "ok"}, {StepState::kFailed, "FAILED"}, {StepState::kNotTried, "-"}};

// As an Error's message: control characters stay off the terminal.
std::string Said(const QuickTestStep& step) {
  return Error(ExitCode::kDone, step.said.empty() ? "not tried" : step.said).Message();
}

std::string Line(const QuickTestStep& step) {
  const std::string time = step.seconds > 0 ? fmt::format("{:.1f} s", step.seconds) : "";
  return fmt::format("{:<9} {:<6} {:>7}  {}\n", step.name, NameIn(kWords, step.state), time, Said(step));
}

std::string Verdict(const QuickTestResult& result) {
  if (result.interrupted)
    return fmt::format("interrupted: what is there is kept in {}\n", FromHere(result.log.parent_path()));
  for (const QuickTestStep& step : result.steps) {
    if (step.state == StepState::kFailed)
      return fmt::format("fail: {} ({} has all that was said)\n", step.name, FromHere(result.log));
  }
  return fmt::format("pass: {} steps in {:.0f} s; the report: {}\n", result.steps.size(), result.Seconds(),
                     FromHere(result.report));
}

int RunQuickTest(const QuickTestArguments& arguments) {
  if (arguments.platform == "android" && arguments.device.starts_with("ssh:")) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("--platform android is a phone behind adb, but --device is `{}`", arguments.device))
        .Remedy("give only one of the two");
  }
  const bool adb = arguments.platform == "android" && arguments.device == "local";
  TerminalProgress progress;
  QuickTest test({std::filesystem::absolute(arguments.outdir).lexically_normal(),
                  adb ? "adb" : arguments.device, arguments.model},
                 progress);
  while (const QuickTestStep* step = test.Next()) {
    if (!arguments.json) {
      Print("{}", Line(*step));
      std::fflush(stdout);
    } else if (step->state == StepState::kFailed) {
      // A script that keeps the JSON in a file sees why it stopped.
      progress.Message(fmt::format("error: {}: {}", step->name, Said(*step)));
    }
  }
  if (arguments.json) {
    PrintJson(ToJson(test.result()));
  } else {
    Print("{}", Verdict(test.result()));
  }
  return test.result().exit_code();
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
  app.add_flag("--json", arguments->json, "Show the steps as JSON");
  return [arguments] { return RunQuickTest(*arguments); };
}

}  // namespace etprof
