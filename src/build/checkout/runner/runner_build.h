#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "build/checkout/checkout.h"
#include "build/checkout/presets.h"
#include "build/checkout/requirements.h"
#include "build/checkout/runner/build_record.h"
#include "device/device.h"

namespace etprof {

// Options for building executor_runner in a checkout of ExecuTorch.
struct RunnerBuild {
  Checkout checkout;
  RunnerPreset preset;
  BuildHost host;  // all requirements are met
  int jobs = 0;    // 0: Ninja's default
  bool clean = false;
  bool llm = false;  // include ExecuTorch's kernels for language models
  std::string etprof_version;

  std::filesystem::path Folder() const { return checkout.folder / "cmake-out" / preset.name; }
  std::filesystem::path Runner() const { return Folder() / "executor_runner"; }
  std::filesystem::path Log() const { return Folder() / "etprof-build.log"; }
  std::filesystem::path Record() const { return Folder() / "etprof-build.json"; }
  // Returns whether the runner runs on this machine.
  bool ForThisMachine() const { return preset.platform != RunnerPreset::Platform::kAndroid; }
};

// The commands that BuildRunner runs: cmake's configure step, then its build step.
std::vector<Command> BuildCommands(const RunnerBuild& build);

// Callbacks for the progress of a build.
struct BuildProgress {
  std::function<void(std::string_view text)> message;  // "configuring", "a download failed: trying again"
  std::function<void(int done, int total)> ninja;
};

// Merges etprof's presets into the checkout's CMakeUserPresets.json; the first call saves the original as
// CMakeUserPresets.json.before-etprof. Returns the names of etprof's presets that the checkout's own
// CMakePresets.json also defines. Throws Error (kBadInput) as MergePresets, or if a file cannot be read.
// Throws Error (kDeviceFailed) if the file cannot be written; the file is then unchanged.
std::vector<std::string> InstallPresets(const std::filesystem::path& checkout);

// Configures and builds executor_runner, runs it with `--help` if it is for this machine, and records its
// provenance in Record(). A step that fails to download something is repeated once, configuring from a fresh
// cache. Throws Error (kDeviceFailed), naming the log, if a step fails, or if the runner's kernels for SME2
// do not match the preset; Error (kInterrupted) when `interrupted` returns true.
BuildRecord BuildRunner(const RunnerBuild& build, const BuildProgress& progress,
                        const std::function<bool()>& interrupted);

}  // namespace etprof
