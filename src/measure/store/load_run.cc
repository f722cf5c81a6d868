#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "format/xnnpack/kernel_log.h"
#include "measure/config/config.h"
#include "measure/store/counters.h"
#include "measure/store/foreign/foreign_layout.h"
#include "measure/store/latency_csv.h"
#include "measure/store/peaks.h"
#include "measure/store/run_data.h"
#include "measure/store/run_directory.h"
#include "measure/store/run_files.h"
#include "measure/store/watch.h"
#include "measure/values/values.h"

namespace etprof {
namespace {

// Calls `reader`. An Error becomes a problem of the run, so that the other files are still read.
template <typename Read>
void ReadOrReport(std::vector<std::string>& problems, const Read& reader) {
  try {
    reader();
  } catch (const Error& problem) {
    problems.push_back(problem.Message());
  }
}

// Reads manifest.json into `run`, and returns its JSON; null if the file is missing or unreadable.
nlohmann::json ReadManifestFile(RunData& run) {
  const std::filesystem::path path = run.folder / kManifestFile;
  if (!Exists(path)) return {};
  try {
    nlohmann::json manifest = ParseJson(ReadTextFile(path));
    if (manifest.is_object()) {
      ReadManifest(manifest, run);
      return manifest;
    }
    run.problems.push_back("manifest.json is not a JSON object, or is cut short");
  } catch (const Error& problem) {
    run.problems.push_back(problem.Message());
  }
  return {};
}

// Marks an experiment as a kernel-log run if a kernel-log runner wrote its log, whatever the file's name is.
void DetectKernelLog(ExperimentData& data) {
  if (data.trace_enabled || data.log.empty()) return;
  const MappedFile file = MappedFile::Open(data.log, kMaxTableBytes);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (!xnnpack::IsTraceEnabled(text)) return;
  data.trace_enabled = true;
  if (data.xnntrace_log.empty()) data.xnntrace_log = data.log;
}

// Completes a run whose manifest another tool wrote.
void CompleteForeignRun(const nlohmann::json& manifest, RunData& run, bool include_unlisted_etdumps) {
  for (ExperimentData& data : run.experiments) {
    data.third_party_runner = data.tracer_always_on = true;
    data.trace_enabled = data.trace_enabled || data.mode == "xnntrace";
  }
  if (include_unlisted_etdumps) AddForeignTraces(run);
  for (ExperimentData& data : run.experiments) {
    ReadOrReport(run.problems, [&] {
      DetectKernelLog(data);
      ReadLatencyLog(data);
    });
  }
  PairForeignExperiments(manifest, run);
}

void CheckExperiment(ExperimentData& data, std::vector<std::string>& problems) {
  const auto report_missing = [&](std::filesystem::path& path, const char* kind) {
    if (path.empty() || Exists(path)) return;
    problems.push_back(fmt::format("{}: its {} is missing ({})", data.label, kind, path.string()));
    path.clear();
  };
  report_missing(data.etdump, "ETDump");
  report_missing(data.latency_csv, "latency file");
  report_missing(data.log, "log");
  report_missing(data.xnntrace_log, "XNNPACK log");
  if (data.etdump.empty()) data.etdump_runs.clear();
  if (!data.latency_csv.empty()) {
    ReadOrReport(problems, [&] { ReadLatencies(data.latency_csv, data.launches, problems); });
  } else if (!data.launches.empty() && data.error.empty()) {
    problems.push_back(fmt::format("{}: without its latency file only traced times are known", data.label));
  }
}

// Finds etprof's results directories below a folder that is not a results directory itself, such as
// "out_net/runs" or ".".
std::vector<std::string> FindRunsBelow(const std::filesystem::path& folder) {
  std::vector<std::string> runs;
  std::error_code error;
  std::filesystem::recursive_directory_iterator iterator(
      folder, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && iterator != std::filesystem::recursive_directory_iterator(); iterator.increment(error)) {
    if (iterator.depth() >= 4) iterator.disable_recursion_pending();
    if (iterator->path().filename() != kManifestFile || iterator.depth() == 0) continue;
    RunData run;
    run.folder = iterator->path().parent_path();
    if (ReadManifestFile(run).contains("etprof_version"))
      runs.push_back(run.folder.lexically_relative(folder).string());
  }
  std::ranges::sort(runs);
  return runs;
}

std::string ExperimentStem(const ExperimentData& data) {
  return UnitStem(data.name, data.model, data.threads);
}

}  // namespace

std::filesystem::path FindParentRun(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::path canonical = std::filesystem::weakly_canonical(folder, error);
  if (error || !std::filesystem::is_directory(canonical, error) || Exists(canonical / kManifestFile))
    return {};
  if (!canonical.has_filename()) canonical = canonical.parent_path();
  RunData parent;
  parent.folder = canonical.parent_path();
  ReadManifestFile(parent);
  const std::string name = canonical.filename().string();
  const bool is_experiment =
      std::ranges::find(parent.experiments, name, &ExperimentData::name) != parent.experiments.end();
  return is_experiment ? parent.folder : std::filesystem::path();
}

RunData LoadRunDirectory(const std::filesystem::path& folder, bool include_unlisted_etdumps) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ExitCode::kBadInput, Exists(folder) ? "is not a folder" : "no such folder")
        .InFile(folder.string())
        .Remedy("give a results directory, as `etprof run` or `etprof profile` makes it");
  }
  // Without this check, the files of an unreadable folder would look missing.
  if (::access(folder.c_str(), R_OK | X_OK) != 0) {
    throw Error(ExitCode::kBadInput, errno == EACCES
                                         ? "cannot be read: permission denied"
                                         : "cannot be read: " + std::generic_category().message(errno))
        .InFile(folder.string())
        .Remedy("check its permissions");
  }
  RunData run;
  run.folder = std::filesystem::absolute(folder).lexically_normal();
  if (!run.folder.has_filename()) run.folder = run.folder.parent_path();
  const nlohmann::json manifest_json = ReadManifestFile(run);
  const bool has_manifest = manifest_json.is_object();
  const bool damaged_manifest = !has_manifest && !run.problems.empty();
  if (!has_manifest && !damaged_manifest && include_unlisted_etdumps) {
    const std::vector<std::string> runs_below = FindRunsBelow(run.folder);
    if (!runs_below.empty())
      throw Error(ExitCode::kBadInput,
                  fmt::format("is not a results directory, but holds {}: {}",
                              runs_below.size() == 1 ? "one" : "several", fmt::join(runs_below, ", ")))
          .InFile(folder.string())
          .Remedy(runs_below.size() == 1 ? "give that one" : "give one or more of them");
  }
  for (ExperimentData& data : run.experiments) CheckExperiment(data, run.problems);
  if (!manifest_json.contains("etprof_version")) {
    CompleteForeignRun(manifest_json, run, include_unlisted_etdumps);
  }
  ReadOrReport(run.problems, [&] { run.peaks = LoadPeaks(run.folder); });
  ReadOrReport(run.problems, [&] { run.values = LoadValues(run.folder); });
  for (ExperimentData& data : run.experiments) {
    ReadOrReport(run.problems, [&] { data.counters = LoadCounters(data); });
    ReadOrReport(run.problems, [&] { data.instructions = LoadInstructions(data); });
    ReadOrReport(run.problems, [&] { data.watch = ReadWatch(data); });
  }
  const bool no_results = std::ranges::none_of(run.experiments, [](const ExperimentData& data) {
    return !data.etdump.empty() || !data.launches.empty();
  });
  if (no_results && !has_manifest) {
    throw Error(ExitCode::kBadInput, damaged_manifest
                                         ? "holds no ETDump, no timeline CSV, and " + run.problems[0]
                                         : "holds no ETDump, no timeline CSV and no manifest.json")
        .InFile(folder.string())
        .Remedy("give a results directory, as `etprof run` or `etprof profile` makes it");
  }
  if (!has_manifest && !damaged_manifest) {
    run.problems.push_back(
        !FindParentRun(folder).empty()
            ? "this is an experiment's folder, read without the manifest.json of its results directory: give "
              "that directory for how and where this was measured"
            : "there is no manifest.json: how and where this was measured is not known");
  }
  if (run.status == RunData::Status::kRunning) {
    run.problems.push_back("the measurement was killed, or still runs: this is what it has stored so far");
  }
  if (run.status == RunData::Status::kInterrupted)
    run.problems.push_back("the measurement was interrupted; --resume continues it");
  for (const ExperimentData& data : run.experiments) {
    if (!data.error.empty()) run.problems.push_back(fmt::format("{}: failed: {}", data.label, data.error));
  }
  return run;
}

void RecoverInMemory(RunData& run) {
  for (ExperimentData& data : run.experiments) {
    try {
      MergePartsInMemory(run.folder, ExperimentStem(data), data);
    } catch (const Error& problem) {
      data.warnings.push_back("the ETDumps of its last launches are excluded: " + problem.Message());
    }
  }
}

namespace {

// LoadRunDirectory omits missing files. Restores the names of missing ETDumps and latency files, so that the
// manifest still names them and `etprof validate` reports them. Without launches, a latency file is not
// missing, since it would have no rows. Returns whether any file is missing.
bool RestoreMissingNames(const ExperimentData& named, ExperimentData& data) {
  const bool etdump_missing = data.etdump.empty() && !named.etdump.empty();
  const bool latencies_missing =
      data.latency_csv.empty() && !named.latency_csv.empty() && !data.launches.empty();
  if (etdump_missing) {
    data.etdump = named.etdump;
    data.etdump_runs = named.etdump_runs;
  }
  if (latencies_missing) data.latency_csv = named.latency_csv;
  return etdump_missing || latencies_missing;
}

}  // namespace

bool RecoverRunDirectory(const std::filesystem::path& folder) {
  RunData run = LoadRunDirectory(folder, /*include_unlisted_etdumps=*/false);
  const auto make_error = [&](const std::string& problem) {
    return Error(ExitCode::kBadInput, problem)
        .InFile(folder.string())
        .Remedy("give a results directory of an interrupted measurement");
  };
  if (run.config_hash.empty()) throw make_error("is not a run of etprof, so there is nothing to recover");
  for (const ExperimentData& data : run.experiments) {
    // Experiments' names are folders that etprof writes, so they must not lead out of this folder.
    const std::filesystem::path name = data.name;
    if (name != name.filename() || name == "." || name == ".." || name.empty())
      throw make_error(fmt::format(
          "its manifest has an experiment named \"{}\", which is not a folder's name", data.name));
  }
  const RunDirectory directory = RunDirectory::Open(run.folder);
  // Read again under the lock, since another process may have written the directory meanwhile.
  run = LoadRunDirectory(folder, /*include_unlisted_etdumps=*/false);
  RunData named;
  named.folder = run.folder;
  ReadManifestFile(named);
  bool changed = run.status == RunData::Status::kRunning, files_missing = false;
  for (std::size_t i = 0; i < run.experiments.size() && i < named.experiments.size(); ++i) {
    ExperimentData& data = run.experiments[i];
    const bool latencies_changed = DropUnknownLatencies(run.folder, ExperimentStem(data), data.launches);
    changed = changed || latencies_changed;
    if (!Exists(data.latency_csv)) data.latency_csv.clear();  // all its rows were removed
    files_missing = RestoreMissingNames(named.experiments[i], data) || files_missing;
    changed = MergeParts(run.folder, ExperimentStem(data), data) || changed;
  }
  if (run.status == RunData::Status::kRunning) run.status = RunData::Status::kInterrupted;
  // The manifest has the medians of a missing latency file, so write it only if something was recovered.
  if (changed || !files_missing) changed = directory.WriteManifest(run) || changed;
  for (const ExperimentData& data : run.experiments)
    changed = RemoveParts(run.folder, ExperimentStem(data), data) || changed;
  return changed;
}

}  // namespace etprof
