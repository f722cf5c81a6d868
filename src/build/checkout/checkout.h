#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// The state of a checkout of ExecuTorch.
struct Checkout {
  std::filesystem::path folder;       // absolute, without symbolic links
  std::optional<std::string> commit;  // git's HEAD; absent: see `git_problem`
  bool dirty = false;                 // the checkout or a submodule differs from the commit
  std::vector<std::string> changes;   // the lines of `git status`, at most 20
  std::string git_problem;            // why git's state could not be read; empty if `commit` is present
  std::string version;                // from version.txt; empty: the file does not exist
};

// Throws Error (kBadInput) if `folder` does not exist or is not a checkout of ExecuTorch. Files that etprof
// itself creates there (presets, cmake-out) do not count as changes.
Checkout ReadCheckout(const std::filesystem::path& folder, const std::function<bool()>& interrupted);

// The needed submodules whose folders are missing or empty.
std::vector<std::string> MissingSubmodules(const std::filesystem::path& checkout, bool llm);

}  // namespace etprof
