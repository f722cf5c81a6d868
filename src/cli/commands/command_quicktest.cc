#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command_schemas.h"
#include "cli/commands.h"
#include "cli/quicktest.h"
#include "cli/say.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/json_schema_of.h"

namespace etprof {
namespace {

using StepState = QuickTestStep::State;

struct QuicktestArguments {
  std::string outdir = "out_quick_test";
  std::string device = "local", platform, model;
  bool json = false;
};

const char* Word(StepState state) {
  switch (state) {
    case StepState::kPassed:
      return "ok";
    case StepState::kFailed:
      return "FAILED";
    case StepState::kNotTried:
      break;
  }
  return "-";
}

// As an Error's message: control characters stay off the terminal.
std::string Said(const QuickTestStep& step) {
  return Error(ExitCode::kDone, step.said.empty() ? "not tried" : step.said).Message();
}

std::string Line(const QuickTestStep& step) {
  const std::string time = step.seconds > 0 ? fmt::format("{:.1f} s", step.seconds) : "";
  return fmt::format("{:<9} {:<6} {:>7}  {}\n", step.name, Word(step.state), time, Said(step));
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

int RunQuicktest(const QuicktestArguments& arguments) {
  if (arguments.platform == "android" && arguments.device.starts_with("ssh:")) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("--platform android is a phone behind adb, but --device is `{}`", arguments.device))
        .Remedy("give only one of the two");
  }
  QuickTestOptions options;
  options.folder = std::filesystem::absolute(arguments.outdir).lexically_normal();
  options.device = arguments.platform == "android" && arguments.device == "local" ? "adb" : arguments.device;
  options.model = arguments.model;
  const QuickTestResult result = RunQuickTest(options, [&](const QuickTestStep& step) {
    if (arguments.json) {
      // A script that keeps the JSON in a file sees why it stopped.
      if (step.state == StepState::kFailed) Say("error: {}: {}\n", step.name, Said(step));
      return;
    }
    Print("{}", Line(step));
    std::fflush(stdout);
  });
  if (arguments.json) {
    Print("{}\n", JsonText(ToJson(result), 2));
  } else {
    Print("{}", Verdict(result));
  }
  return result.exit_code();
}

}  // namespace

nlohmann::ordered_json QuickTestSchema() {
  return SchemaOf<QuickTestResult>("`etprof quick-test --json`", "How far a small model came.");
}

CommandSpec QuickTestCommand() {
  return {
      "quick-test", "take a small model the whole way, from export to report, in under a minute",
      "etprof quick-test --outdir quick_test", [](CLI::App& app) -> std::function<int()> {
        auto arguments = std::make_shared<QuicktestArguments>();
        app.add_option("--outdir", arguments->outdir, "where everything is left [out_quick_test]")
            ->type_name("DIR");
        app.add_option("--model", arguments->model, "this program in place of toy_cnn; nothing is exported")
            ->check(CLI::ExistingFile)
            ->type_name("MODEL.pte");
        app.add_option("--device", arguments->device,
                       "where to run it: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT [local]")
            ->type_name("DEVICE");
        app.add_option("--platform", arguments->platform, "the kit's word for it: android is --device adb")
            ->check(CLI::IsMember({"mac", "linux", "android"}));
        app.add_flag("--json", arguments->json, "the steps as JSON on stdout");
        return [arguments] { return RunQuicktest(*arguments); };
      }};
}

}  // namespace etprof
