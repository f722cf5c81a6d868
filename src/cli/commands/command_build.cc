#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "workflow/build.h"

namespace etprof {
namespace {

struct BuildArguments {
  PortableRunnerOptions portable;
  ExecutorchBuildOptions executorch;
  bool json = false;
};

int BuildPortable(const BuildArguments& arguments) {
  const Bundle bundle = WithProgress(BuildPortableRunner, arguments.portable);
  if (arguments.json) {
    WriteJson(bundle, 2, std::cout);
    return 0;
  }
  Print("{}: {} files, {:.1f} MB, executorch {}{}\n", bundle.folder.string(), bundle.manifest.files.size(),
        static_cast<double>(bundle.bytes) / 1e6, bundle.manifest.executorch,
        bundle.changed ? "" : ", unchanged");
  return 0;
}

int BuildRunners(const BuildArguments& arguments) {
  const auto each = [&](const BuiltRunner& built) {
    if (!arguments.json) ShowFile(built.runner);
    std::fflush(stdout);
  };
  const ExecutorchBuilt built = WithProgress(BuildExecutorch, arguments.executorch, each);
  for (const auto& [problem, remedy] : built.missing)
    PrintError(Error(ExitCode::kBadInput, problem).Remedy(remedy));
  if (arguments.json) {
    WriteJson(built, 2, std::cout);
  } else {
    for (const std::string& command : built.commands) Print("{}\n", command);
  }
  return built.missing.empty() ? 0 : static_cast<int>(ExitCode::kBadInput);
}

}  // namespace

std::function<int()> BuildCommand(CLI::App& app) {
  const auto arguments = std::make_shared<BuildArguments>();
  auto& [portable, executorch, json] = *arguments;
  CLI::Option* const target = app.add_option(
      "--target", portable.target, "Build etprof-runner for linux-aarch64, android, macos-arm64, or native");
  AddOption(app, "--output DIR", portable.output, "Folder to create (default: build/bundles/TARGET)")
      ->needs(target);
  app.add_option("--jobs,-j", portable.jobs, "Compile this many files at once");
  app.add_flag("--json", json, "Show what was built as JSON");
  CLI::Option* const checkout =
      AddOption(app, "--executorch DIR", executorch.executorch,
                "Build ExecuTorch's own executor_runner in this checkout, into DIR/cmake-out/<preset>/");
  AllowRepeats(
      AddOption(app, "--preset NAME", executorch.preset,
                fmt::format("Preset to build: {}. May be repeated (default: for this machine, and for "
                            "Android if ANDROID_NDK is set)",
                            fmt::join(ExecutorchPresetNames(), ", "))));
  AddDescribedOptions(app, portable);
  AddDescribedOptions(app, executorch);
  for (const char* name : {"--preset", "--trace", "--llm", "--clean", "--dry-run"})
    app.get_option(name)->needs(checkout)->group("With --executorch");
  return [arguments] {
    auto& [bundle, runners, as_json] = *arguments;
    if (bundle.target.empty() == runners.executorch.empty())
      throw Error(ExitCode::kUsage, "`etprof build` takes either `--target` or `--executorch`")
          .Remedy("give `--target NAME` or `--executorch DIR`");
    runners.jobs = bundle.jobs;
    return bundle.target.empty() ? BuildRunners(*arguments) : BuildPortable(*arguments);
  };
}

}  // namespace etprof
