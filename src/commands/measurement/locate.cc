#include "commands/measurement/locate.h"

#include <sstream>
#ifdef __APPLE__
#include <mach-o/dyld.h>

#include <array>
#endif

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "device/tool.h"

namespace etprof {

namespace fs = std::filesystem;

namespace {

// The path that Python has set, since the running program is not etprof.
fs::path& ExecutableOverride() {
  static fs::path path;
  return path;
}

}  // namespace

void SetExecutablePath(const fs::path& etprof) { ExecutableOverride() = fs::weakly_canonical(etprof); }

fs::path ExecutablePath() {
  if (!ExecutableOverride().empty()) return ExecutableOverride();
#ifdef __APPLE__
  std::array<char, 4096> buffer{};
  auto size = static_cast<std::uint32_t>(buffer.size());
  if (_NSGetExecutablePath(buffer.data(), &size) == 0) return fs::weakly_canonical(buffer.data());
  return "etprof";
#else
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path("etprof") : path;
#endif
}

fs::path DefaultRunner() {
  if (const std::string runner = EnvironmentVariable("ETPROF_RUNNER"); !runner.empty()) return runner;
  const fs::path default_path = ExecutablePath().parent_path() / "etprof-runner";
  if (Exists(default_path)) return default_path;
  throw Error(ExitCode::kBadInput, "is missing: etprof-runner belongs next to etprof")
      .InFile(default_path.string())
      .Remedy("run `script/bootstrap`, or set ETPROF_RUNNER");
}

fs::path BundleFolder(const std::string& target) {
  return ExecutablePath().parent_path().parent_path() / "bundles" / target;
}

std::optional<fs::path> CheckoutRoot() {
  for (fs::path folder = ExecutablePath().parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (Exists(folder / "python" / "etprof" / "export.py")) return folder;
  }
  return std::nullopt;
}

std::string PythonProgram(const std::optional<fs::path>& checkout) {
  if (std::string python = EnvironmentVariable("ETPROF_PYTHON"); !python.empty()) return python;
  if (checkout) {
    const fs::path python = *checkout / ".venv" / "bin" / "python";
    if (Exists(python)) return python.string();
  }
  return "python3";
}

std::string LastError(const std::string& text) {
  constexpr std::string_view kError = "error: ";
  constexpr std::string_view kHint = "hint: ";
  std::istringstream lines(text);
  std::string problem;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kError)) {
      problem = line.substr(kError.size());
    } else if (line.starts_with(kHint) && !problem.empty()) {
      problem += ". " + line.substr(kHint.size());
    }
  }
  return problem.empty() ? LastLine(text) : problem;
}

}  // namespace etprof
