#include "checkout/runner_build.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkout/build_log.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"
#include "core/utc.h"

namespace etprof {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr double kSilenceSeconds = 3600;  // one slow translation unit, or a download without progress
constexpr double kHelpSeconds = 60;

std::optional<std::string> TextIfThere(const fs::path& path) {
  if (!Exists(path)) return std::nullopt;
  return ReadTextFile(path);
}

// Runs one step, its output into the log.
ToolRun RunStep(const RunnerBuild& build, const Command& command, const BuildProgress& progress,
                const std::function<bool()>& interrupted) {
  std::ofstream log(build.Log(), std::ios::app);
  log << "$ " << CommandText(command) << '\n';
  ToolRun run;
  try {
    run = RunTool(
        command, kSilenceSeconds,
        [&](std::string_view line) {
          log << line << '\n' << std::flush;
          const std::optional<NinjaProgress> at = ParseNinjaProgress(line);
          if (at && progress.ninja) progress.ninja(at->done, at->total);
        },
        interrupted);
  } catch (const Error& error) {
    log << "etprof: " << error.Message() << '\n';
    throw;
  }
  log << "etprof: " << run.status.Text() << '\n' << std::flush;
  if (!log) throw Error(ExitCode::kDeviceFailed, "could not be written").InFile(build.Log().string());
  return run;
}

void RunStepOrThrow(const RunnerBuild& build, const char* doing, const Command& command,
                    const BuildProgress& progress, const std::function<bool()>& interrupted) {
  progress.message(doing);
  ToolRun run = RunStep(build, command, progress, interrupted);
  const bool again = !run.status.Success() && IsDownloadFailure(run.output);
  if (again) {
    progress.message("a download failed: trying once more");
    run = RunStep(build, command, progress, interrupted);
  }
  if (run.status.Success()) return;
  const bool download = IsDownloadFailure(run.output);
  throw Error(ExitCode::kDeviceFailed,
              fmt::format("{} {} failed: cmake {}", doing, build.preset.name, run.status.Text()))
      .InFile(build.Log().string())
      .Remedy(download
                  ? "something could not be downloaded, twice: see to the network or its proxy, and try again"
                  : "its last lines are above; if they make no sense, try again with --clean");
}

// executor_runner --help prints its flags and exits with 1, which is no failure.
void TryHelp(const RunnerBuild& build, const std::function<bool()>& interrupted) {
  const auto refuse = [&build](const std::string& why) {
    return Error(ExitCode::kDeviceFailed, "was built, but its --help " + why)
        .InFile(build.Runner().string())
        .Remedy("build it again with --clean");
  };
  const ToolRun run = RunTool({{build.Runner().string(), "--help"}, {}, {}}, kHelpSeconds, {}, interrupted);
  if (run.status.signal != 0 || run.status.code < 0 || run.status.code > 1) throw refuse(run.status.Text());
  if (run.output.find("model_path") == std::string::npos) throw refuse("does not name --model_path");
}

void WriteRecord(const RunnerBuild& build, double seconds) {
  const Checkout& checkout = build.checkout;
  json record = {
      {"schema_version", 1},
      {"preset", build.preset.name},
      {"trace_enabled", build.preset.trace},
      {"runner_sha256", Sha256HexOfFile(build.Runner())},
      {"executorch_version", checkout.version.empty() ? json() : json(checkout.version)},
      {"commit", checkout.commit ? json(*checkout.commit) : json()},
      {"dirty", checkout.commit ? json(checkout.dirty) : json()},
      {"changed", checkout.changed},
      {"cmake", build.host.cmake->version},
      {"ninja", build.host.ninja->version},
      {"ndk", build.preset.platform == RunnerPreset::Platform::kAndroid ? json(NdkVersion(*build.host.ndk))
                                                                        : json()},
      {"built_at", UtcNow()},
      {"seconds", std::round(seconds * 10) / 10},
      {"etprof_version", build.etprof_version}};
  WriteFileAtomically(build.Record(), record.dump(2) + "\n");
}

}  // namespace

std::vector<Command> BuildCommands(const RunnerBuild& build) {
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> configure = {build.host.cmake->path,
                                        "-S",
                                        build.checkout.folder.string(),
                                        "-B",
                                        build.Folder().string(),
                                        "--preset",
                                        build.preset.name,
                                        "-DCMAKE_MAKE_PROGRAM=" + build.host.ninja->path};
  if (build.preset.platform == RunnerPreset::Platform::kAndroid) {
    environment.emplace_back("ANDROID_NDK", build.host.ndk->string());
  }
  std::vector<std::string> compile = {build.host.cmake->path, "--build", build.Folder().string(), "--target",
                                      "executor_runner"};
  if (build.jobs > 0) compile.insert(compile.end(), {"--parallel", std::to_string(build.jobs)});
  return {{configure, environment, {}}, {compile, environment, {}}};
}

std::vector<std::string> InstallPresets(const fs::path& checkout) {
  const fs::path path = checkout / "CMakeUserPresets.json";
  const std::optional<std::string> existing = TextIfThere(path);
  const std::optional<std::string> own = TextIfThere(checkout / "CMakePresets.json");
  try {
    const MergedPresets merged = MergePresets(existing, own ? PresetNames(*own) : std::set<std::string>());
    if (merged.changed) {
      const fs::path backup = path.string() + ".before-etprof";
      if (existing && !Exists(backup)) WriteFileAtomically(backup, *existing);
      WriteFileAtomically(path, merged.text);
    }
    return merged.left_to_checkout;
  } catch (Error& error) {
    if (error.file().empty()) error.InFile(path.string());
    throw;
  }
}

void BuildRunner(const RunnerBuild& build, const BuildProgress& progress,
                 const std::function<bool()>& interrupted) {
  const auto began = std::chrono::steady_clock::now();
  std::error_code error;
  if (build.clean) fs::remove_all(build.Folder(), error);
  if (!error) fs::create_directories(build.Folder(), error);
  // A record of an earlier build must not stand beside a runner that this one replaces.
  if (!error) fs::remove(build.Record(), error);
  if (!error) fs::remove(build.Log(), error);
  if (error) {
    throw Error(ExitCode::kDeviceFailed, "cannot be prepared: " + error.message())
        .InFile(build.Folder().string());
  }
  const std::vector<Command> commands = BuildCommands(build);
  RunStepOrThrow(build, "configuring", commands[0], progress, interrupted);
  RunStepOrThrow(build, "building", commands[1], progress, interrupted);
  if (!Exists(build.Runner())) {
    throw Error(ExitCode::kDeviceFailed, "was not built, although cmake says that all is done")
        .InFile(build.Runner().string())
        .Remedy("see " + build.Log().string() + "; try again with --clean");
  }
  if (build.ForThisMachine()) TryHelp(build, interrupted);
  WriteRecord(build, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}

}  // namespace etprof
