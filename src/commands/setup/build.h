#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "build/bundle/bundle.h"
#include "build/checkout/requirements.h"
#include "build/checkout/runner/runner_build.h"
#include "commands/terminal/progress.h"

namespace etprof {

inline constexpr MemberInfo kBuildJobs{.meaning = "files that are compiled at once", .min = 1, .max = 1024};
struct PortableRunnerOptions {
  std::string target;            // "linux-aarch64", "android", "macos-arm64", "native"
  std::filesystem::path output;  // empty: build/bundles/TARGET of the checkout
  int jobs = 0;                  // 0: Ninja's default

  static void Describe(auto& v) {
    v("target", &PortableRunnerOptions::target);
    v("output", &PortableRunnerOptions::output, {.meaning = "the folder to create", .value = "DIR"});
    v("jobs", &PortableRunnerOptions::jobs, kBuildJobs);
  }
};
// Builds etprof-runner for a device as a bundle, a folder that can be pushed to the device. Throws Error
// (kUsage, kBadInput, kDeviceFailed).
Bundle BuildPortableRunner(const PortableRunnerOptions& options, WorkflowProgress& progress);

// Options for building ExecuTorch's own executor_runner in the user's checkout.
struct ExecutorchBuildOptions {
  std::filesystem::path executorch;  // the checkout
  // Empty: the presets of this machine, and Android's when ANDROID_NDK is set.
  std::vector<std::string> preset;
  bool trace = false, llm = false, clean = false, dry_run = false;
  int jobs = 0;  // 0: Ninja's default

  static void Describe(auto& v) {
    using B = ExecutorchBuildOptions;
    v("executorch", &B::executorch);
    v("preset", &B::preset,
      {.meaning = "Presets to build; without it for this machine, and for Android if ANDROID_NDK is set",
       .or_single = true});
    v("trace", &B::trace, {.meaning = "Build the kernel-log runners instead, which run slower"});
    v("llm", &B::llm,
      {.meaning = "Include ExecuTorch's kernels for language models (custom_sdpa and others)"});
    v("clean", &B::clean, {.meaning = "Remove DIR/cmake-out/<preset>/ first"});
    v("dry_run", &B::dry_run, {.meaning = "Check everything and show the commands without running them"});
    v("jobs", &B::jobs, kBuildJobs);
  }
};

// An executor_runner that `etprof build --executorch` built.
struct BuiltRunner {
  std::filesystem::path runner, log;
  BuildRecord record;

  static void Describe(auto& v) {
    v("runner", &BuiltRunner::runner, {.meaning = "the program that was built"});
    v("log", &BuiltRunner::log, {.meaning = "the commands and all their output"});
    v.Flat(&BuiltRunner::record);
  }
};
struct ExecutorchBuildResult {
  std::vector<MissingRequirement> missing;
  std::vector<std::string> commands;
  std::vector<BuiltRunner> runners;

  static void Describe(auto& v) {
    using B = ExecutorchBuildResult;
    DescribeSchemaVersion(v);
    v("missing", &B::missing, {.meaning = "what the build lacks: nothing was built", .omit_if_empty = true});
    v("commands", &B::commands, {.meaning = "of --dry-run: those that would be run", .omit_if_empty = true});
    v("runners", &B::runners,
      {.meaning = "what was built, as their etprof-build.json", .omit_if_empty = true});
  }
};
// Builds the checkout's runners one after the other and calls `on_built` after each. If a requirement is
// missing, nothing is built or changed, and the result lists what is missing. Throws Error (kUsage,
// kBadInput, kInterrupted), and as InstallPresets and BuildRunner. Before an error of BuildRunner the end of
// the build log is printed as messages.
ExecutorchBuildResult BuildExecutorch(const ExecutorchBuildOptions& options,
                                      const std::function<void(const BuiltRunner&)>& on_built,
                                      WorkflowProgress& progress);

}  // namespace etprof
