#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// A checkout of ExecuTorch, as it is now.
struct Checkout {
  std::filesystem::path folder;       // absolute, without symbolic links
  std::optional<std::string> commit;  // of git's HEAD; absent: `git_problem` says why
  bool dirty = false;                 // something differs from the commit, also in a submodule
  std::vector<std::string> changed;   // `git status`'s lines that say what, at most 20
  std::string git_problem;
  std::string version;  // of its version.txt; empty: there is none
};

// Throws Error (kBadInput) when `folder` is not there or no checkout of ExecuTorch. What etprof itself puts
// there (its presets, cmake-out) does not make it dirty.
Checkout ReadCheckout(const std::filesystem::path& folder, const std::function<bool()>& interrupted);

// The paths that a .gitmodules file names.
std::vector<std::string> SubmodulePaths(std::string_view gitmodules);
// Whether executor_runner with XNNPACK needs the submodule, or its kernels for language models do (`llm`).
// Those of other backends, of examples, of ExecuTorch's tests, of its build by Buck and of its Python package
// it does not. One that is not known is needed: without it, configuring would fail minutes later.
bool RunnerNeedsSubmodule(std::string_view path, bool llm);
// Those needed whose folders are missing or empty.
std::vector<std::string> MissingSubmodules(const std::filesystem::path& checkout, bool llm);

}  // namespace etprof
