#include "cli/build_executorch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "checkout/build_log.h"
#include "checkout/runner_build.h"
#include "cli/interruption.h"
#include "cli/locate.h"
#include "cli/say.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/suggest.h"

namespace etprof {
namespace {

constexpr std::size_t kShownLogLines = 30;
constexpr std::size_t kShownChanges = 3;

std::vector<std::string> Names(const std::vector<RunnerPreset>& presets) {
  std::vector<std::string> names;
  for (const RunnerPreset& preset : presets) names.push_back(preset.name);
  return names;
}

RunnerPreset PresetNamed(const std::string& name) {
  const std::vector<RunnerPreset> all = RunnerPresets();
  for (const RunnerPreset& preset : all) {
    if (preset.name == name) return preset;
  }
  const std::string near = Closest(name, Names(all));
  throw Error(ExitCode::kUsage, fmt::format("unknown preset `{}`", name))
      .Remedy(near.empty() ? fmt::format("choose one of {}", fmt::join(Names(all), ", "))
                           : fmt::format("did you mean `{}`?", near));
}

// As the kit chooses: what runs here, and Android's when there is an NDK.
std::vector<std::string> DefaultPresets(const BuildHost& host) {
  std::vector<std::string> names;
  if (host.system == "Darwin") {
    names = {"mac-arm64", "mac-arm64-sme2-off"};
  } else {
    names = {"native"};
  }
  if (host.ndk) names.insert(names.end(), {"android-arm64-v9a", "android-arm64-v9a-sme2-off"});
  return names;
}

std::vector<RunnerPreset> ChosenPresets(const BuildExecutorchOptions& options, const BuildHost& host) {
  std::vector<RunnerPreset> chosen;
  for (const std::string& name : options.presets.empty() ? DefaultPresets(host) : options.presets) {
    RunnerPreset preset = PresetNamed(name);
    if (options.trace) preset = TraceEnabled(preset);
    const bool known = std::any_of(chosen.begin(), chosen.end(), [&preset](const RunnerPreset& other) {
      return other.name == preset.name;
    });
    if (!known) chosen.push_back(preset);
  }
  return chosen;
}

void EndProgress() {
  if (::isatty(STDERR_FILENO) != 0) SayText("\r\033[K");
}

// What the build says, on stderr: on a terminal one line that renews itself, else a line a step.
BuildProgress ProgressOf(const RunnerBuild& build) {
  const std::string name = build.preset.name;
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  return {[name, terminal](std::string_view text) {
            EndProgress();
            Say("{}: {}", name, text);
            if (!terminal) SayText("\n");
          },
          [name, terminal](int done, int total) {
            if (!terminal) return;
            Say("\r\033[K{}: building {} of {}", name, done, total);
          }};
}

// A path may be anything but UTF-8.
std::string Text(const nlohmann::json& value) { return JsonText(value, 2); }

nlohmann::json RunnerJson(const RunnerBuild& build) {
  nlohmann::json runner = nlohmann::json::parse(ReadTextFile(build.Record()));
  runner.erase("schema_version");
  runner["runner"] = build.Runner().string();
  runner["log"] = build.Log().string();
  return runner;
}

void Warn(const Checkout& checkout) {
  if (!checkout.commit) {
    Say("warning: The build cannot be named by a commit: {}\n", checkout.git_problem);
  } else if (checkout.dirty) {
    const std::size_t shown = std::min(checkout.changed.size(), kShownChanges);
    Say("warning: The checkout differs from its commit {}. etprof-build.json lists how\n",
        checkout.commit->substr(0, 10));
    for (std::size_t i = 0; i < shown; ++i) Say("  {}\n", checkout.changed[i]);
    if (shown < checkout.changed.size()) Say("  and more\n");
  }
}

int TellMissing(const std::vector<MissingRequirement>& missing, bool as_json) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [problem, remedy] : missing) {
    SayError(Error(ExitCode::kBadInput, problem).Remedy(remedy));
    list.push_back({{"problem", problem}, {"remedy", remedy}});
  }
  if (as_json) Print("{}\n", Text({{"schema_version", 1}, {"missing", list}}));
  return static_cast<int>(ExitCode::kBadInput);
}

int ShowCommands(const std::vector<RunnerBuild>& builds, bool as_json) {
  nlohmann::json list = nlohmann::json::array();
  for (const RunnerBuild& build : builds) {
    for (const Command& command : BuildCommands(build)) list.push_back(CommandText(command));
  }
  if (as_json) {
    Print("{}\n", Text({{"schema_version", 1}, {"commands", list}}));
  } else {
    for (const nlohmann::json& command : list) Print("{}\n", command.get<std::string>());
  }
  return static_cast<int>(ExitCode::kDone);
}

void BuildOne(const RunnerBuild& build) {
  try {
    BuildRunner(build, ProgressOf(build), Interrupted);
    EndProgress();
  } catch (const Error& error) {
    EndProgress();
    if (error.exit_code() == ExitCode::kDeviceFailed && Exists(build.Log())) {
      SayText("\n" + ManyLines(FailureIn(ReadTextFile(build.Log()), kShownLogLines)) + "\n\n");
    }
    throw;
  }
}

}  // namespace

void AddBuildExecutorchOptions(CLI::App& app, BuildExecutorchOptions& options) {
  CLI::Option* const executorch =
      app.add_option("--executorch", options.folder,
                     "build ExecuTorch's own executor_runner in this checkout, into DIR/cmake-out/<preset>/")
          ->type_name("DIR");
  const auto add = [executorch](CLI::Option* option) {
    option->needs(executorch)->group("With --executorch");
  };
  add(app.add_option(
             "--preset", options.presets,
             fmt::format("what to build, may be repeated: {} (default: for this machine, and for Android "
                         "when ANDROID_NDK is set)",
                         fmt::join(Names(RunnerPresets()), ", ")))
          ->type_name("NAME")
          ->expected(1)
          ->take_all());
  add(app.add_flag(
      "--trace", options.trace,
      "the trace-enabled runners instead: XNNPACK says which kernels it takes, which costs time"));
  add(app.add_flag("--llm", options.llm,
                   "with ExecuTorch's kernels for language models (custom_sdpa and others)"));
  add(app.add_flag("--clean", options.clean, "remove DIR/cmake-out/<preset>/ first"));
  add(app.add_flag("--dry-run", options.dry_run, "check everything, show the commands, change nothing"));
}

int BuildExecutorch(const BuildExecutorchOptions& options) {
  const InterruptionScope scope;
  const Checkout checkout = ReadCheckout(options.folder, Interrupted);
  const std::optional<std::filesystem::path> root = CheckoutRoot();
  const BuildHost host = ReadBuildHost(checkout, root ? *root / ".venv" / "bin" : std::filesystem::path());
  const std::vector<RunnerPreset> presets = ChosenPresets(options, host);
  const std::vector<MissingRequirement> missing = MissingRequirements(checkout, presets, options.llm, host);
  if (!missing.empty()) return TellMissing(missing, options.json);

  std::vector<RunnerBuild> builds;
  for (const RunnerPreset& preset : presets) {
    builds.push_back({checkout, preset, host, options.jobs, options.clean, options.llm, ETPROF_VERSION});
  }
  if (options.dry_run) return ShowCommands(builds, options.json);
  Warn(checkout);
  const std::vector<std::string> left = InstallPresets(checkout.folder);
  nlohmann::json runners = nlohmann::json::array();
  for (const RunnerBuild& build : builds) {
    if (std::find(left.begin(), left.end(), build.preset.name) != left.end()) {
      Say("warning: {0} is built as the checkout's own CMakePresets.json defines it\n", build.preset.name);
    }
    BuildOne(build);
    runners.push_back(RunnerJson(build));
    if (!options.json) Print("{}\n", build.Runner().string());
    std::fflush(stdout);
  }
  if (options.json) Print("{}\n", Text({{"schema_version", 1}, {"runners", runners}}));
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace etprof
