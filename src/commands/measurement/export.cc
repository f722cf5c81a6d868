#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "commands/measurement/locate.h"
#include "commands/measurement/measure.h"
#include "commands/measurement/runtimes.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "measure/config/release.h"
#include "measure/participants/worker_client.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr double kExportSeconds = 4 * 3600;

}  // namespace

ToolResult RunExport(const std::vector<std::string>& options, const WorkflowProgress& progress) {
  std::vector<std::string> command = {ExecutablePath().string(), "export"};
  command.insert(command.end(), options.begin(), options.end());
  const Interruption interruption{.requested = [&progress] { return progress.Interrupted(); }};
  ToolResult result =
      RunTool(command, {.timeout_seconds = kExportSeconds, .interrupted = interruption.requested});
  if (interruption.Ended(result.status)) throw Error(ExitCode::kInterrupted, "interrupted");
  return result;
}

std::string ExportFailure(const ToolResult& result) {
  if (result.timed_out) return "it takes longer than four hours";
  const std::string error = LastError(result.errors);
  return error.empty() ? "the export failed" : error;
}

void ExportWithReleases(VersionsOptions& options, WorkflowProgress& progress) {
  options.RequireValid();
  if (!options.ExportsModel()) return;
  const std::vector<std::string> versions = options.Versions();
  for (const std::string& version : versions) {
    progress.Step("exporting with ExecuTorch " + ReleaseName(version),
                  static_cast<int>(options.programs.size()) + 1, static_cast<int>(versions.size()));
    std::vector<std::string> arguments = {"--model=" + options.model,
                                          (IsWheel(version) ? "--wheel=" : "--executorch=") + version,
                                          "--no-check"};
    if (!options.dtype.empty()) arguments.push_back("--dtype=" + options.dtype);
    if (!options.backend.empty()) arguments.push_back("--backend=" + options.backend);
    const ToolResult result = RunExport(arguments, progress);
    const std::string path = result.output.substr(0, result.output.find('\n'));
    if (!result.Success() || !Exists(path)) {
      std::vector<std::string> other_versions = versions;
      std::erase(other_versions, version);
      throw Error(ExitCode::kDeviceFailed, fmt::format("ExecuTorch {} does not export it: {}",
                                                       ReleaseName(version), ExportFailure(result)))
          .InFile(options.model)
          .Remedy(fmt::format("compare the others: `--versions {}`", fmt::join(other_versions, ",")));
    }
    std::istringstream lines(result.errors);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  note ")) progress.Message(line.substr(line.find_first_not_of(' ', 7)));
    }
    const std::string sha256 = Sha256HexOfFile(path);
    if (!options.programs.empty()) {
      progress.Message(fmt::format(
          "{}: {}", ReleaseName(version),
          sha256 == options.programs.back().sha256 ? "the export did not change" : "the export changed"));
    }
    options.programs.push_back({fs::absolute(path), sha256});
  }
}

}  // namespace etprof
