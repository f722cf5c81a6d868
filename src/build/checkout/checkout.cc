#include "build/checkout/checkout.h"

#include <algorithm>
#include <array>

#include "build/checkout/host_tools.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"

namespace etprof {

namespace fs = std::filesystem;

namespace {

constexpr double kGitTimeoutSeconds = 300;  // enough for a cold disk and dozens of submodules
constexpr std::size_t kMaxChanges = 20;

// Submodules that a runner's build does not use, though their paths do not show that.
constexpr std::array<std::string_view, 6> kUnusedSubmodules = {"backends/xnnpack/third-party/FP16",
                                                               "shim",
                                                               "third-party/googletest",
                                                               "third-party/ios-cmake",
                                                               "third-party/prelude",
                                                               "third-party/pybind11"};

// The paths in a .gitmodules file.
std::vector<std::string> SubmodulePaths(std::string_view gitmodules) {
  std::vector<std::string> paths;
  for (const std::string_view line : SplitAt(gitmodules, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && Trimmed(line.substr(0, equals)) == "path")
      paths.emplace_back(Trimmed(line.substr(equals + 1)));
  }
  return paths;
}

// Returns whether a build of executor_runner with XNNPACK needs the submodule; with `llm`, whether a build
// with the kernels for language models needs it. Submodules that are not needed: those of other backends,
// examples, ExecuTorch's tests, its Buck build, and its Python package. Unknown submodules count as needed,
// since configuring without them would fail minutes later.
bool RunnerNeedsSubmodule(std::string_view path, bool llm) {
  if (path == "third-party/ao") return llm;  // the LLM kernels need its headers
  if (std::ranges::find(kUnusedSubmodules, path) != kUnusedSubmodules.end()) return false;
  if (path.starts_with("backends/")) return path.starts_with("backends/xnnpack/");
  return !path.starts_with("examples/") && !path.starts_with("extension/llm/");
}

void ReadGitState(Checkout& checkout, const std::function<bool()>& interrupted) {
  const auto git = [&](std::vector<std::string> arguments) {
    std::vector<std::string> command = {"git", "-C", checkout.folder.string(), "-c", "core.quotePath=true"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunTool({command, {{"LC_ALL", "C"}, {"GIT_OPTIONAL_LOCKS", "0"}}, {}}, kGitTimeoutSeconds, {},
                   interrupted);
  };
  try {
    // A folder inside of another repository is not a checkout of its own.
    const ToolRun root = git({"rev-parse", "--show-toplevel", "HEAD"});
    const std::vector<std::string_view> lines = SplitAt(Trimmed(root.output), '\n');
    if (!root.status.Success() || lines.size() != 2) {
      checkout.git_problem = "git says: " + std::string(Trimmed(root.output));
      return;
    }
    std::error_code error;
    if (!fs::equivalent(lines[0], checkout.folder, error)) {
      checkout.git_problem = "it is a folder of the repository " + std::string(lines[0]);
      return;
    }
    const ToolRun status =
        git({"status", "--porcelain", "--", ".", ":(exclude)CMakeUserPresets.json*", ":(exclude)cmake-out"});
    if (!status.status.Success()) {
      checkout.git_problem = "git says: " + std::string(Trimmed(status.output));
      return;
    }
    checkout.commit = lines[1];
    for (const std::string_view line : SplitAt(status.output, '\n')) {
      if (!line.empty() && checkout.changes.size() < kMaxChanges) checkout.changes.emplace_back(line);
    }
    checkout.dirty = !checkout.changes.empty();
  } catch (const Error& problem) {
    if (problem.exit_code() == ExitCode::kInterrupted) throw;
    checkout.git_problem = problem.Message();
  }
}

}  // namespace

Checkout ReadCheckout(const fs::path& folder, const std::function<bool()>& interrupted) {
  const auto make_error = [&folder](const char* reason) {
    return Error(ExitCode::kBadInput, reason)
        .InFile(folder.string())
        .Remedy("give the folder of a checkout of github.com/pytorch/executorch");
  };
  std::error_code error;
  Checkout checkout;
  checkout.folder = fs::canonical(folder, error);
  if (error) throw make_error("is not there");
  if (!fs::is_directory(checkout.folder)) throw make_error("is not a folder");
  if (!Exists(checkout.folder / "CMakeLists.txt")) throw make_error("has no CMakeLists.txt");
  if (ReadTextFile(checkout.folder / "CMakeLists.txt").find("project(executorch") == std::string::npos) {
    throw make_error("is not ExecuTorch: its CMakeLists.txt is of another project");
  }
  const fs::path version = checkout.folder / "version.txt";
  if (Exists(version)) checkout.version = std::string(Trimmed(ReadTextFile(version)));
  ReadGitState(checkout, interrupted);
  return checkout;
}

std::vector<std::string> MissingSubmodules(const fs::path& checkout, bool llm) {
  std::vector<std::string> missing;
  const fs::path gitmodules = checkout / ".gitmodules";
  if (!Exists(gitmodules)) return missing;
  for (const std::string& path : SubmodulePaths(ReadTextFile(gitmodules))) {
    std::error_code error;
    const fs::directory_iterator entries(checkout / path, error);
    if (RunnerNeedsSubmodule(path, llm) && (error || entries == fs::directory_iterator()))
      missing.push_back(path);
  }
  return missing;
}

}  // namespace etprof
