#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <iostream>
#include <memory>

#include "checkout/build_log.h"
#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/escape.h"
#include "workflow/build.h"

namespace etprof {
namespace {

constexpr std::size_t kShownLogLines = 30;

struct BuildArguments {
  PortableRunnerOptions portable;
  ExecutorchBuildOptions executorch;
  bool dry_run = false, json = false;
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

int TellMissing(std::vector<MissingRequirement> missing, bool as_json) {
  for (const auto& [problem, remedy] : missing) SayError(Error(ExitCode::kBadInput, problem).Remedy(remedy));
  if (as_json) WriteJson(ExecutorchBuilt{std::move(missing), {}, {}}, 2, std::cout);
  return static_cast<int>(ExitCode::kBadInput);
}

int ShowCommands(const std::vector<RunnerBuild>& builds, bool as_json) {
  ExecutorchBuilt shown;
  for (const RunnerBuild& build : builds) {
    for (const Command& command : BuildCommands(build)) {
      shown.commands.push_back(CommandText(command));
      if (!as_json) Print("{}\n", shown.commands.back());
    }
  }
  if (as_json) WriteJson(shown, 2, std::cout);
  return 0;
}

// With the end of the build's log where that failed.
BuildRecord BuildOne(const ExecutorchBuild& plan, const RunnerBuild& build) {
  try {
    TerminalProgress progress;
    return BuildExecutorchRunner(plan, build, progress);
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kDeviceFailed && Exists(build.Log()))
      SayText("\n" + ManyLines(FailureIn(ReadTextFile(build.Log()), kShownLogLines)) + "\n\n");
    throw;
  }
}

int BuildExecutorch(const BuildArguments& arguments) {
  TerminalProgress progress;
  ExecutorchBuild plan = PlanExecutorchBuild(arguments.executorch, progress);
  if (!plan.missing.empty()) return TellMissing(plan.missing, arguments.json);
  if (arguments.dry_run) return ShowCommands(plan.runners, arguments.json);
  PrepareCheckout(plan, progress);
  ExecutorchBuilt built;
  for (const RunnerBuild& build : plan.runners) {
    built.runners.push_back({build.Runner(), build.Log(), BuildOne(plan, build)});
    if (!arguments.json) Print("{}\n", build.Runner().string());
    std::fflush(stdout);
  }
  if (arguments.json) WriteJson(built, 2, std::cout);
  return 0;
}

}  // namespace

std::function<int()> BuildCommand(CLI::App& app) {
  const auto arguments = std::make_shared<BuildArguments>();
  auto& [portable, executorch, dry_run, json] = *arguments;
  CLI::Option* const target = app.add_option(
      "--target", portable.target, "Build etprof-runner for linux-aarch64, android, macos-arm64, or native");
  AddOption(app, "--output DIR", portable.output, "Folder to create (default: build/bundles/TARGET)")
      ->needs(target);
  app.add_option("--jobs,-j", portable.jobs, "Compile this many files at once");
  app.add_flag("--json", json, "Show what was built as JSON");
  CLI::Option* const checkout =
      AddOption(app, "--executorch DIR", executorch.folder,
                "Build ExecuTorch's own executor_runner in this checkout, into DIR/cmake-out/<preset>/");
  const auto add = [checkout](CLI::Option* option) { option->needs(checkout)->group("With --executorch"); };
  add(AddOption(app, "--preset NAME", executorch.presets,
                fmt::format("Preset to build: {}. May be repeated (default: for this machine, and for "
                            "Android if ANDROID_NDK is set)",
                            fmt::join(ExecutorchPresetNames(), ", ")))
          ->expected(1)
          ->take_all());
  add(app.add_flag("--trace", executorch.trace, "Build the kernel-log runners instead, which run slower"));
  add(app.add_flag("--llm", executorch.llm,
                   "Include ExecuTorch's kernels for language models (custom_sdpa and others)"));
  add(app.add_flag("--clean", executorch.clean, "Remove DIR/cmake-out/<preset>/ first"));
  add(app.add_flag("--dry-run", dry_run, "Check everything and show the commands without running them"));
  AddDescribedOptions(app, portable);
  return [arguments] {
    auto& [bundle, checkout_build, dry, as_json] = *arguments;
    if (bundle.target.empty() == checkout_build.folder.empty())
      throw Error(ExitCode::kUsage, "`etprof build` takes either `--target` or `--executorch`")
          .Remedy("give `--target NAME` or `--executorch DIR`");
    checkout_build.jobs = bundle.jobs;
    return bundle.target.empty() ? BuildExecutorch(*arguments) : BuildPortable(*arguments);
  };
}

}  // namespace etprof
