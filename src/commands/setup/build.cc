#include "commands/setup/build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "build/checkout/build_log.h"
#include "commands/measurement/locate.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/suggest.h"
#include "core/text/text.h"
#include "core/views.h"

namespace etprof {

namespace {

constexpr std::size_t kMaxShownChanges = 3;
constexpr std::size_t kMaxShownLogLines = 30;

std::vector<std::string> ExecutorchPresetNames() { return MapEach(RunnerPresets(), &RunnerPreset::name); }

RunnerPreset FindPreset(const std::string& name) {
  const std::vector<RunnerPreset> presets = RunnerPresets();
  if (const auto found = std::ranges::find(presets, name, &RunnerPreset::name); found != presets.end())
    return *found;
  const std::vector<std::string> names = ExecutorchPresetNames();
  const std::string suggestion = FindClosest(name, names);
  throw Error(ExitCode::kUsage, fmt::format("unknown preset `{}`", name))
      .Remedy(suggestion.empty() ? fmt::format("choose one of {}", fmt::join(names, ", "))
                                 : fmt::format("did you mean `{}`?", suggestion));
}

// Returns the presets of this machine, and Android's if there is an NDK, as the SME2 profiling kit does.
std::vector<std::string> DefaultPresets(const BuildHost& host) {
  std::vector<std::string> names = {"native"};
  if (host.system == "Darwin") names = {"mac-arm64", "mac-arm64-sme2-off"};
  if (host.ndk) names.insert(names.end(), {"android-arm64-v9a", "android-arm64-v9a-sme2-off"});
  return names;
}

std::vector<RunnerPreset> SelectPresets(const ExecutorchBuildOptions& options, const BuildHost& host) {
  std::vector<RunnerPreset> presets;
  for (const std::string& name : options.preset.empty() ? DefaultPresets(host) : options.preset) {
    RunnerPreset preset = FindPreset(name);
    if (options.trace) preset = MakeTraceEnabledPreset(preset);
    if (std::ranges::find(presets, preset.name, &RunnerPreset::name) == presets.end())
      presets.push_back(preset);
  }
  return presets;
}

BundleTarget FindTarget(const std::string& name) {
  if (const auto target = ParseEnum<BundleTarget>(name)) return *target;
  throw Error(ExitCode::kUsage, fmt::format("unknown target `{}`", name))
      .Remedy("the targets are linux-aarch64, android, macos-arm64 and native");
}

// Installs etprof's presets. Returns the names of presets that the checkout's own CMakePresets.json defines.
std::vector<std::string> PrepareCheckout(const Checkout& checkout, WorkflowProgress& progress) {
  if (!checkout.commit) {
    progress.Message("warning: The build cannot be named by a commit: " + checkout.git_problem);
  } else if (checkout.dirty) {
    progress.Message(
        fmt::format("warning: The checkout differs from its commit {}. etprof-build.json lists how",
                    checkout.commit->substr(0, 10)));
    const std::size_t shown_count = std::min(checkout.changes.size(), kMaxShownChanges);
    for (std::size_t i = 0; i < shown_count; ++i) progress.Message("  " + checkout.changes[i]);
    if (shown_count < checkout.changes.size()) progress.Message("  and more");
  }
  return InstallPresets(checkout.folder);
}

// Builds one runner. If the build fails, prints the end of its log as messages.
BuildRecord BuildAndReport(const RunnerBuild& build, WorkflowProgress& progress) {
  const std::string& name = build.preset.name;
  const BuildProgress steps = {
      [&](std::string_view text) { progress.Step(fmt::format("{}: {}", name, text)); },
      [&](int done, int total) { progress.Step(name + ": building", done, total); }};
  try {
    return BuildRunner(build, steps, [&progress] { return progress.Interrupted(); });
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kDeviceFailed && Exists(build.Log())) {
      const std::string failure = ExtractFailure(ReadTextFile(build.Log()), kMaxShownLogLines);
      for (const std::string_view line : SplitAt(failure, '\n')) progress.Message(std::string(line));
    }
    throw;
  }
}

}  // namespace

Bundle BuildPortableRunner(const PortableRunnerOptions& options, WorkflowProgress& progress) {
  const std::optional<std::filesystem::path> checkout = CheckoutRoot();
  if (!checkout) {
    throw Error(ExitCode::kBadInput, "is not in a checkout, and a bundle is built from etprof's sources")
        .InFile(ExecutablePath().string())
        .Remedy("run `build/etprof` in a checkout");
  }
  return BuildBundle({*checkout,
                      FindTarget(options.target),
                      options.output,
                      options.jobs,
                      {[&progress](const std::string& step) { progress.Step(step); },
                       [&progress] { return progress.Interrupted(); }}});
}

ExecutorchBuildResult BuildExecutorch(const ExecutorchBuildOptions& options,
                                      const std::function<void(const BuiltRunner&)>& on_built,
                                      WorkflowProgress& progress) {
  const Checkout checkout = ReadCheckout(options.executorch, [&progress] { return progress.Interrupted(); });
  const std::optional<std::filesystem::path> root = CheckoutRoot();
  const BuildHost host = ReadBuildHost(checkout, root ? *root / ".venv" / "bin" : std::filesystem::path());
  const std::vector<RunnerPreset> presets = SelectPresets(options, host);
  ExecutorchBuildResult result;
  result.missing = MissingRequirements(checkout, presets, options.llm, host);
  if (!result.missing.empty()) return result;
  std::vector<RunnerBuild> builds;
  for (const RunnerPreset& preset : presets)
    builds.push_back({checkout, preset, host, options.jobs, options.clean, options.llm, ETPROF_VERSION});
  if (options.dry_run) {
    for (const RunnerBuild& build : builds) {
      for (const Command& command : BuildCommands(build)) result.commands.push_back(CommandText(command));
    }
    return result;
  }
  const std::vector<std::string> presets_of_checkout = PrepareCheckout(checkout, progress);
  for (const RunnerBuild& build : builds) {
    if (std::ranges::find(presets_of_checkout, build.preset.name) != presets_of_checkout.end()) {
      progress.Message(fmt::format("warning: {} is built as the checkout's own CMakePresets.json defines it",
                                   build.preset.name));
    }
    on_built(result.runners.emplace_back(
        BuiltRunner{build.Runner(), build.Log(), BuildAndReport(build, progress)}));
  }
  return result;
}

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
  const auto on_built = [&](const BuiltRunner& built) {
    if (!arguments.json) ShowFile(built.runner);
    std::fflush(stdout);
  };
  const ExecutorchBuildResult result = WithProgress(BuildExecutorch, arguments.executorch, on_built);
  for (const auto& [problem, remedy] : result.missing)
    PrintError(Error(ExitCode::kBadInput, problem).Remedy(remedy));
  if (arguments.json) {
    WriteJson(result, 2, std::cout);
  } else {
    for (const std::string& command : result.commands) Print("{}\n", command);
  }
  return result.missing.empty() ? 0 : static_cast<int>(ExitCode::kBadInput);
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
