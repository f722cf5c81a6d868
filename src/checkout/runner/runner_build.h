#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "checkout/checkout.h"
#include "checkout/presets.h"
#include "checkout/requirements.h"
#include "checkout/runner/build_record.h"
#include "device/device.h"

namespace etprof {

struct RunnerBuild {
  Checkout checkout;
  RunnerPreset preset;
  BuildHost host;  // in which nothing is missing
  int jobs = 0;    // 0: as Ninja chooses
  bool clean = false;
  bool llm = false;  // with ExecuTorch's kernels for language models
  std::string etprof_version;

  std::filesystem::path Folder() const { return checkout.folder / "cmake-out" / preset.name; }
  std::filesystem::path Runner() const { return Folder() / "executor_runner"; }
  std::filesystem::path Log() const { return Folder() / "etprof-build.log"; }
  std::filesystem::path Record() const { return Folder() / "etprof-build.json"; }
  // Whether the runner is a program of this machine.
  bool ForThisMachine() const { return preset.platform != RunnerPreset::Platform::kAndroid; }
};

// The commands that BuildRunner runs: cmake's configure step, then its build step.
std::vector<Command> BuildCommands(const RunnerBuild& build);

// What a build tells while it goes on.
struct BuildProgress {
  std::function<void(std::string_view text)> message;  // "configuring", "a download failed: trying again"
  std::function<void(int done, int total)> ninja;
};

// Merges etprof's presets into the checkout's CMakeUserPresets.json; what was there before the first time is
// kept as CMakeUserPresets.json.before-etprof. Returns the names that the checkout's own CMakePresets.json
// has. Throws Error (kBadInput) as MergePresets, or when a file cannot be read, (kDeviceFailed) when it
// cannot be written; the file is then as it was.
std::vector<std::string> InstallPresets(const std::filesystem::path& checkout);

// Configures and builds executor_runner, tries `--help` of it where it is of this machine, and records what
// it was built from in Record(). A step that fails to download is tried once more, configuring from a fresh
// cache. Throws Error (kDeviceFailed), naming the log, when a step fails, or when the preset is to have
// kernels for SME2 and has none, or the other way round; (kInterrupted) when `interrupted` says so.
BuildRecord BuildRunner(const RunnerBuild& build, const BuildProgress& progress,
                        const std::function<bool()>& interrupted);

}  // namespace etprof
