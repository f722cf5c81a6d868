#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace etprof {

// `etprof build --executorch DIR`: ExecuTorch's own executor_runner, in the user's checkout.
struct BuildExecutorchOptions {
  std::filesystem::path folder;
  std::vector<std::string> presets;  // empty: those of this machine, and Android's when ANDROID_NDK is set
  bool trace = false;                // their trace-enabled ones instead
  int jobs = 0;                      // 0: as Ninja chooses
  bool clean = false;
  bool llm = false;  // with ExecuTorch's kernels for language models
  bool dry_run = false;
  bool json = false;
};

// Adds its options to `etprof build`, but for --jobs and --json; all others need --executorch. `options`
// outlives the parsing.
void AddBuildExecutorchOptions(CLI::App& app, BuildExecutorchOptions& options);

// Returns the process exit code. Throws Error.
int BuildExecutorch(const BuildExecutorchOptions& options);

}  // namespace etprof
