#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bundle/bundle.h"
#include "checkout/requirements.h"
#include "checkout/runner/runner_build.h"
#include "workflow/progress.h"

namespace etprof {

// etprof-runner for a device, as one folder to push.
struct PortableRunnerOptions {
  std::string target;            // "linux-aarch64", "android", "macos-arm64", "native"
  std::filesystem::path output;  // empty: build/bundles/TARGET of the checkout
  int jobs = 0;                  // 0: as Ninja chooses

  static void Describe(auto& v) {
    v("target", &PortableRunnerOptions::target);
    v("output", &PortableRunnerOptions::output, {.meaning = "the folder to create"});
    v("jobs", &PortableRunnerOptions::jobs,
      {.meaning = "files that are compiled at once", .least = 1, .most = 1024});
  }
};
// Throws Error (kUsage, kBadInput, kDeviceFailed).
Bundle BuildPortableRunner(const PortableRunnerOptions& options, WorkflowProgress& progress);

// ExecuTorch's own executor_runner, in the user's checkout.
struct ExecutorchBuildOptions {
  std::filesystem::path folder;
  std::vector<std::string> presets;  // empty: those of this machine, and Android's when ANDROID_NDK is set
  bool trace = false;                // their kernel-log ones instead
  int jobs = 0;                      // 0: as Ninja chooses
  bool clean = false;
  bool llm = false;  // with ExecuTorch's kernels for language models
};
struct ExecutorchBuild {
  std::vector<MissingRequirement> missing;  // where there is one, nothing can be built
  std::vector<RunnerBuild> runners;
  std::vector<std::string> presets_of_checkout;  // that the checkout's own CMakePresets.json has
};
std::vector<std::string> ExecutorchPresetNames();
// Looks at the checkout and the machine; changes nothing. Throws Error (kUsage, kBadInput, kInterrupted).
ExecutorchBuild PlanExecutorchBuild(const ExecutorchBuildOptions& options, WorkflowProgress& progress);
// Installs etprof's presets. Throws as InstallPresets.
void PrepareCheckout(ExecutorchBuild& plan, WorkflowProgress& progress);
// Builds one of its runners. Throws as BuildRunner.
BuildRecord BuildExecutorchRunner(const ExecutorchBuild& plan, const RunnerBuild& runner,
                                  WorkflowProgress& progress);

// What `etprof build --executorch` did, or would do.
struct BuiltRunner {
  std::filesystem::path runner, log;
  BuildRecord record;

  static void Describe(auto& v) {
    v("runner", &BuiltRunner::runner, {.meaning = "the program that was built"});
    v("log", &BuiltRunner::log, {.meaning = "the commands and all their output"});
    v.Flat(&BuiltRunner::record);
  }
};
struct ExecutorchBuilt {
  std::vector<MissingRequirement> missing;
  std::vector<std::string> commands;
  std::vector<BuiltRunner> runners;

  static void Describe(auto& v) {
    using B = ExecutorchBuilt;
    DescribeSchemaVersion(v);
    v("missing", &B::missing, {.meaning = "what the build lacks: nothing was built", .if_any = true});
    v("commands", &B::commands, {.meaning = "of --dry-run: those that would be run", .if_any = true});
    v("runners", &B::runners, {.meaning = "what was built, as their etprof-build.json", .if_any = true});
  }
};

}  // namespace etprof
