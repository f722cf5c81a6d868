#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <set>
#include <sstream>

#include "commands/measurement/locate.h"
#include "commands/measurement/measure.h"
#include "commands/measurement/runtimes.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/views.h"
#include "measure/config/release.h"
#include "measure/participants/worker_client.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr double kExportTimeoutSeconds = 4 * 3600;

}  // namespace

std::vector<std::string> VersionsOptions::Versions() const {
  return versions.empty()
             ? VerifiedReleases()
             : MapEach(versions, [](const std::string& version) { return ResolveWheelPath(version); });
}

bool VersionsOptions::ExportsModel() const {
  std::error_code ignored;
  return fs::path(model).extension() != ".pte" && !fs::is_regular_file(model, ignored);
}

void VersionsOptions::RequireValid() const {
  std::set<std::string> names, exporters;
  for (const std::string& version : versions) {
    RequireUsableRelease(version);
    names.insert(ReleaseName(version));
    exporters.insert(PublicRelease(version));
  }
  if (versions.size() == 1 || names.size() != versions.size()) {
    throw Error(ExitCode::kUsage, "`--versions` needs at least two releases, each once")
        .Remedy(fmt::format("leave it out for all: {}", fmt::join(VerifiedReleases(), ", ")));
  }
  if (ExportsModel() && exporters.size() != versions.size()) {
    throw Error(ExitCode::kUsage,
                "two of `--versions` have one version, which does not tell their exports apart")
        .Remedy("export with each (`etprof export --wheel FILE --outdir DIR`), and compare the programs");
  }
  if (!ExportsModel() && !(dtype.empty() && backend.empty())) {
    throw Error(ExitCode::kUsage,
                "`--dtype` and `--backend` are for a model that is exported, and this is a program")
        .Remedy("give the model, as `etprof export --model` takes it");
  }
}

ToolResult RunExport(const std::vector<std::string>& options, const WorkflowProgress& progress) {
  std::vector<std::string> command = {ExecutablePath().string(), "export"};
  command.insert(command.end(), options.begin(), options.end());
  const Interruption interruption{.requested = [&progress] { return progress.Interrupted(); }};
  ToolResult result =
      RunTool(command, {.timeout_seconds = kExportTimeoutSeconds, .interrupted = interruption.requested});
  if (interruption.CausedExit(result.status)) throw Error(ExitCode::kInterrupted, "interrupted");
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

std::function<int()> VersionsCommand(CLI::App& app) {
  const auto parsed = std::make_shared<ParsedArguments<VersionsOptions>>();
  auto& [options, view] = *parsed;
  AddOption(app, "model,--model MODEL", options.model,
            "Program (.pte) to measure, or a model that each release exports, as `etprof export` takes it")
      ->required();
  AddDescribedOptions(app, options);
  app.get_option("--versions")->delimiter(',');
  SetMeasureTexts({.max_seconds = "60 for each pair",
                   .threads = "1; several measure every release with each",
                   .output_root = "out_<model>/runs/<platform>-versions"},
                  app);
  AddViewOptions(app, view, "Show the analysis as JSON", "comparison");
  return [parsed] {
    WithProgress(ExportWithReleases, parsed->options);
    return MeasureAndShow(MakeJobs(parsed->options), parsed->options, parsed->view);
  };
}

}  // namespace etprof
