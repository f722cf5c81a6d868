#include "build/checkout/runner/runner_build.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "build/checkout/build_log.h"
#include "build/checkout/runner/runner_binary.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json_members.h"

namespace etprof {

namespace fs = std::filesystem;

namespace {

constexpr double kMaxSilenceSeconds = 3600;  // enough for a slow compilation or download
constexpr double kHelpTimeoutSeconds = 60;
constexpr const char* kFreshOption = "--fresh";

std::optional<std::string> ReadIfExists(const fs::path& path) {
  if (!Exists(path)) return std::nullopt;
  return ReadTextFile(path);
}

// Runs one step and appends its output to the log.
ToolRun RunStep(const RunnerBuild& build, const Command& command, const BuildProgress& progress,
                const std::function<bool()>& interrupted) {
  std::ofstream log(build.Log(), std::ios::app);
  log << "$ " << CommandText(command) << '\n';
  ToolRun run;
  try {
    run = RunTool(
        command, kMaxSilenceSeconds,
        [&](std::string_view line) {
          log << line << '\n' << std::flush;
          const std::optional<NinjaProgress> ninja_progress = ParseNinjaProgress(line);
          if (ninja_progress && progress.ninja) progress.ninja(ninja_progress->done, ninja_progress->total);
        },
        interrupted);
  } catch (const Error& error) {
    log << "etprof: " << error.Message() << '\n';
    throw;
  }
  log << "etprof: " << run.status.Text() << '\n' << std::flush;
  if (!log)
    throw Error(ExitCode::kDeviceFailed, "could not be written")
        .InFile(build.Log().string())
        .Remedy("check the folder and its free space");
  return run;
}

void RunStepOrThrow(const RunnerBuild& build, const char* step, const Command& command, const Command& retry,
                    const BuildProgress& progress, const std::function<bool()>& interrupted) {
  progress.message(step);
  ToolRun run = RunStep(build, command, progress, interrupted);
  if (!run.status.Success() && IsDownloadFailure(run.output)) {
    progress.message("a download failed: trying once more");
    run = RunStep(build, retry, progress, interrupted);
  }
  if (run.status.Success()) return;
  const bool download = IsDownloadFailure(run.output);
  throw Error(ExitCode::kDeviceFailed,
              fmt::format("{} {} failed: cmake {}", step, build.preset.name, run.status.Text()))
      .InFile(build.Log().string())
      .Remedy(download
                  ? "something could not be downloaded, twice: see to the network or its proxy, and try again"
                  : "read its words above, or try again with `--clean`");
}

constexpr const char* kSme2Remedy =
    "take the Android NDK r27 or later (XNNPACK leaves SME2 out for Clang before 18, whatever its options "
    "are), "
    "and a checkout whose XNNPACK has kernels for SME2";

// Checks the compiled sources, since XNNPACK overrides its options. Absent: CMake wrote no compile commands,
// and the preset does not specify SME2.
std::optional<Sme2Sources> CheckSources(const RunnerBuild& build) {
  const fs::path file = build.Folder() / "compile_commands.json";
  if (!build.preset.sme2 && !Exists(file)) return std::nullopt;
  Sme2Sources sources;
  try {
    sources = CountSme2Sources(ReadTextFile(file));
  } catch (Error& error) {
    if (error.file().empty()) error.InFile(file.string());
    throw;
  }
  if (!build.preset.sme2) return sources;
  if (*build.preset.sme2 && (sources.xnnpack == 0 || sources.kleidiai == 0)) {
    throw Error(ExitCode::kDeviceFailed,
                fmt::format("has none of {}'s sources for SME2, so {} would not differ from its -sme2-off",
                            sources.xnnpack == 0 ? "XNNPACK" : "KleidiAI", build.preset.name))
        .InFile(file.string())
        .Remedy(kSme2Remedy);
  }
  if (!*build.preset.sme2 && sources.xnnpack > 0) {
    throw Error(ExitCode::kDeviceFailed,
                fmt::format("has XNNPACK's sources for SME2 ({}), and {} is to have none", sources.xnnpack,
                            build.preset.name))
        .InFile(file.string())
        .Remedy("try again with `--clean`");
  }
  return sources;
}

void CheckCode(const RunnerBuild& build, const RunnerBinary& binary) {
  if (!build.preset.sme2 || !binary.sme || *binary.sme == *build.preset.sme2) return;
  throw Error(
      ExitCode::kDeviceFailed,
      fmt::format("has {} of SME (SMSTART), which {} {}", *binary.sme ? "instructions" : "no instruction",
                  build.preset.name, *binary.sme ? "is not to have" : "is to have"))
      .InFile(build.Runner().string())
      .Remedy(*binary.sme ? "try again with `--clean`" : kSme2Remedy);
}

// Checks the output of `executor_runner --help`, which exits with 1.
void CheckHelpOutput(const RunnerBuild& build, const std::function<bool()>& interrupted) {
  const auto make_error = [&build](const std::string& reason) {
    return Error(ExitCode::kDeviceFailed, "was built, but its --help " + reason)
        .InFile(build.Runner().string())
        .Remedy("build it again with --clean");
  };
  const ToolRun run =
      RunTool({{build.Runner().string(), "--help"}, {}, {}}, kHelpTimeoutSeconds, {}, interrupted);
  if (run.status.signal != 0 || run.status.code < 0 || run.status.code > 1)
    throw make_error(run.status.Text());
  if (run.output.find("model_path") == std::string::npos) throw make_error("does not name --model_path");
}

struct RecordFile {
  const BuildRecord& record;

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v.Flat([](const RecordFile& file) -> const auto& { return file.record; });
  }
};

BuildRecord MakeBuildRecord(const RunnerBuild& build, const std::optional<Sme2Sources>& sources,
                            double seconds) {
  const Checkout& checkout = build.checkout;
  const RunnerBinary binary = ReadRunnerBinary(build.Runner());
  CheckCode(build, binary);
  BuildRecord record;
  record.preset = build.preset.name;
  record.trace_enabled = build.preset.trace_enabled;
  record.llm_kernels = build.llm;
  if (sources) {
    record.sme2_sources = sources->xnnpack;
    record.kleidiai_sources = sources->kleidiai;
  }
  record.sme_in_code = binary.sme;
  record.runner_sha256 = Sha256HexOfFile(build.Runner());
  record.executorch_version = checkout.version;
  if (checkout.commit) {
    record.commit = *checkout.commit;
    record.dirty = checkout.dirty;
  }
  record.changes = checkout.changes;
  record.compiler = ReadCompiler(build.Folder());
  record.cmake = build.host.cmake->version;
  record.ninja = build.host.ninja->version;
  if (build.preset.platform == RunnerPreset::Platform::kAndroid) record.ndk = NdkVersion(*build.host.ndk);
  record.built_at = UtcNow();
  record.seconds = std::round(seconds * 10) / 10;
  record.etprof_version = build.etprof_version;
  return record;
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
                                        "-DCMAKE_MAKE_PROGRAM=" + build.host.ninja->path,
                                        "-DPYTHON_EXECUTABLE=" + build.host.python->path};
  if (build.llm) configure.emplace_back("-DEXECUTORCH_BUILD_KERNELS_LLM=ON");
  // Do not reuse the cache of a failed configuration: XNNPACK caches KleidiAI's location even if the download
  // failed, and does not download it again.
  const bool unfinished =
      !build.clean && Exists(build.Folder() / "CMakeCache.txt") && !Exists(build.Folder() / "build.ninja");
  if (unfinished) configure.emplace_back(kFreshOption);
  if (build.preset.platform == RunnerPreset::Platform::kAndroid) {
    environment.emplace_back("ANDROID_NDK", build.host.ndk->folder.string());
  }
  std::vector<std::string> compile = {build.host.cmake->path, "--build", build.Folder().string(), "--target",
                                      "executor_runner"};
  if (build.jobs > 0) compile.insert(compile.end(), {"--parallel", std::to_string(build.jobs)});
  return {{configure, environment, {}}, {compile, environment, {}}};
}

std::vector<std::string> InstallPresets(const fs::path& checkout) {
  const fs::path path = checkout / "CMakeUserPresets.json";
  const std::optional<std::string> existing = ReadIfExists(path);
  const std::optional<std::string> checkout_presets = ReadIfExists(checkout / "CMakePresets.json");
  try {
    const MergedPresets merged =
        MergePresets(existing, checkout_presets ? PresetNames(*checkout_presets) : std::set<std::string>());
    if (merged.changed) {
      const fs::path backup = path.string() + ".before-etprof";
      if (existing && !Exists(backup)) WriteFileAtomically(backup, *existing);
      WriteFileAtomically(path, merged.text);
    }
    return merged.conflicting_presets;
  } catch (Error& error) {
    if (error.file().empty()) error.InFile(path.string());
    throw;
  }
}

BuildRecord BuildRunner(const RunnerBuild& build, const BuildProgress& progress,
                        const std::function<bool()>& interrupted) {
  const auto start = std::chrono::steady_clock::now();
  std::error_code error;
  if (build.clean) fs::remove_all(build.Folder(), error);
  if (!error) fs::create_directories(build.Folder(), error);
  // Remove the record of an earlier build, so that it cannot be mistaken for the record of the new runner.
  if (!error) fs::remove(build.Record(), error);
  if (!error) fs::remove(build.Log(), error);
  if (error) {
    throw Error(ExitCode::kDeviceFailed, "cannot be prepared: " + error.message())
        .InFile(build.Folder().string())
        .Remedy("check the folder and its permissions");
  }
  const std::vector<Command> commands = BuildCommands(build);
  Command fresh = commands[0];
  if (fresh.arguments.back() != kFreshOption) fresh.arguments.emplace_back(kFreshOption);
  RunStepOrThrow(build, "configuring", commands[0], fresh, progress, interrupted);
  const std::optional<Sme2Sources> sources = CheckSources(build);
  RunStepOrThrow(build, "building", commands[1], commands[1], progress, interrupted);
  if (!Exists(build.Runner())) {
    throw Error(ExitCode::kDeviceFailed, "was not built, although cmake says that all is done")
        .InFile(build.Runner().string())
        .Remedy("see " + build.Log().string() + ", then try again with `--clean`");
  }
  if (build.ForThisMachine()) CheckHelpOutput(build, interrupted);
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start;
  BuildRecord record = MakeBuildRecord(build, sources, duration.count());
  WriteFileAtomically(build.Record(), JsonText(ToJson(RecordFile{record}), 2) + "\n");
  return record;
}

}  // namespace etprof
