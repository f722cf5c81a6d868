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
#include "measure/config/config.h"
#include "measure/store/counters.h"
#include "measure/store/foreign/foreign_layout.h"
#include "measure/store/latency_csv.h"
#include "measure/store/peaks.h"
#include "measure/store/run_data.h"
#include "measure/store/run_directory.h"
#include "measure/store/run_files.h"
#include "measure/store/watch.h"
#include "xnnpack/kernel_log.h"

namespace etprof {
namespace {

// A file that cannot be read is a problem of the run, and the others are read all the same.
template <typename Read>
void Try(std::vector<std::string>& problems, const Read& read) {
  try {
    read();
  } catch (const Error& problem) {
    problems.push_back(problem.Message());
  }
}

// Reads manifest.json into `run`, and returns it; null where there is none that can be read.
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

// A log that a kernel-log runner wrote makes its run one, whatever it is called.
void LookForTrace(ExperimentData& data) {
  if (data.trace_enabled || data.log.empty()) return;
  const MappedFile file = MappedFile::Open(data.log, kMostTable);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (!xnnpack::IsTraceEnabled(text)) return;
  data.trace_enabled = true;
  if (data.xnntrace_log.empty()) data.xnntrace_log = data.log;
}

// What a manifest that etprof did not write leaves open.
void ReadForeign(const nlohmann::json& manifest, RunData& run, bool with_bare_files) {
  for (ExperimentData& data : run.experiments) {
    data.foreign = data.tracer_always_on = true;
    data.trace_enabled = data.trace_enabled || data.mode == "xnntrace";
  }
  if (with_bare_files) AddForeignTraces(run);
  for (ExperimentData& data : run.experiments) {
    Try(run.problems, [&] {
      LookForTrace(data);
      ReadLatencyLog(data);
    });
  }
  PairForeign(manifest, run);
}

void CheckExperiment(ExperimentData& data, std::vector<std::string>& problems) {
  const auto check = [&](std::filesystem::path& path, const char* what) {
    if (path.empty() || Exists(path)) return;
    problems.push_back(fmt::format("{}: its {} is missing ({})", data.label, what, path.string()));
    path.clear();
  };
  check(data.etdump, "ETDump");
  check(data.latency_csv, "latency file");
  check(data.log, "log");
  check(data.xnntrace_log, "XNNPACK log");
  if (data.etdump.empty()) data.etdump_runs.clear();
  if (!data.latency_csv.empty()) {
    Try(problems, [&] { ReadLatencies(data.latency_csv, data.launches, problems); });
  } else if (!data.launches.empty() && data.error.empty()) {
    problems.push_back(fmt::format("{}: without its latency file only traced times are known", data.label));
  }
}

// Results directories of etprof's below a folder that is none, as "out_net/runs" or "." may hold.
std::vector<std::string> RunsBelow(const std::filesystem::path& folder) {
  std::vector<std::string> runs;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; at != end; at.increment(error)) {
    if (error) break;
    if (at.depth() >= 4) at.disable_recursion_pending();
    if (at->path().filename() != kManifestFile || at.depth() == 0) continue;
    RunData run;
    run.folder = at->path().parent_path();
    if (ReadManifestFile(run).contains("etprof_version"))
      runs.push_back(run.folder.lexically_relative(folder).string());
  }
  std::ranges::sort(runs);
  return runs;
}

std::string StemOf(const ExperimentData& data) { return UnitStem(data.name, data.model, data.threads); }

}  // namespace

std::filesystem::path RunAbove(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::path own = std::filesystem::weakly_canonical(folder, error);
  if (error || !std::filesystem::is_directory(own, error) || Exists(own / kManifestFile)) return {};
  if (!own.has_filename()) own = own.parent_path();
  RunData above;
  above.folder = own.parent_path();
  ReadManifestFile(above);
  const std::string name = own.filename().string();
  const bool has_it =
      std::ranges::find(above.experiments, name, &ExperimentData::name) != above.experiments.end();
  return has_it ? above.folder : std::filesystem::path();
}

RunData LoadRunDirectory(const std::filesystem::path& folder, bool with_bare_files) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ExitCode::kBadInput, Exists(folder) ? "is not a folder" : "no such folder")
        .InFile(folder.string())
        .Remedy("give a results directory, as `etprof run` or `etprof profile` makes it");
  }
  // What lies in a folder that may not be read would look as if it were not there.
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
  const nlohmann::json content = ReadManifestFile(run);
  const bool manifest = content.is_object();
  const bool damaged_manifest = !manifest && !run.problems.empty();
  if (!manifest && !damaged_manifest && with_bare_files) {
    const std::vector<std::string> below = RunsBelow(run.folder);
    if (!below.empty())
      throw Error(ExitCode::kBadInput,
                  fmt::format("is not a results directory, but holds {}: {}",
                              below.size() == 1 ? "one" : "several", fmt::join(below, ", ")))
          .InFile(folder.string())
          .Remedy(below.size() == 1 ? "give that one" : "give one or more of them");
  }
  for (ExperimentData& data : run.experiments) CheckExperiment(data, run.problems);
  if (!content.contains("etprof_version")) {
    ReadForeign(content, run, with_bare_files);
  } else if (with_bare_files) {
    AddForeignTraces(run);
  }
  Try(run.problems, [&] { run.peaks = LoadPeaks(run.folder); });
  for (ExperimentData& data : run.experiments) {
    Try(run.problems, [&] { data.counters = LoadCounters(data); });
    Try(run.problems, [&] { data.instructions = LoadInstructions(data); });
    Try(run.problems, [&] { data.watch = ReadWatch(data); });
  }
  const bool nothing = std::ranges::none_of(run.experiments, [](const ExperimentData& data) {
    return !data.etdump.empty() || !data.launches.empty();
  });
  if (nothing && !manifest) {
    throw Error(ExitCode::kBadInput, damaged_manifest
                                         ? "holds no ETDump, no timeline CSV, and " + run.problems[0]
                                         : "holds no ETDump, no timeline CSV and no manifest.json")
        .InFile(folder.string())
        .Remedy("give a results directory, as `etprof run` or `etprof profile` makes it");
  }
  if (!manifest && !damaged_manifest) {
    run.problems.push_back(
        !RunAbove(folder).empty()
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
      TakeParts(run.folder, StemOf(data), data);
    } catch (const Error& problem) {
      data.warnings.push_back("the ETDumps of its last launches are excluded: " + problem.Message());
    }
  }
}

bool RecoverRunDirectory(const std::filesystem::path& folder) {
  RunData run = LoadRunDirectory(folder, /*with_bare_files=*/false);
  const auto refuse = [&](const std::string& why) {
    return Error(ExitCode::kBadInput, why)
        .InFile(folder.string())
        .Remedy("give a results directory of an interrupted measurement");
  };
  if (run.config_hash.empty()) throw refuse("is not a run of etprof, so there is nothing to recover");
  for (const ExperimentData& data : run.experiments) {
    // The names of experiments are folders that are written: they must not lead out of this one.
    const std::filesystem::path name = data.name;
    if (name != name.filename() || name == "." || name == ".." || name.empty())
      throw refuse(fmt::format("its manifest has an experiment named \"{}\", which is not a folder's name",
                               data.name));
  }
  const RunDirectory directory = RunDirectory::Open(run.folder);
  // Read again: until now another process may have written it.
  run = LoadRunDirectory(folder, /*with_bare_files=*/false);
  bool changed = false;
  for (ExperimentData& data : run.experiments) {
    changed = DropUnknownLatencies(run.folder, StemOf(data), data.launches) || changed;
    if (!Exists(data.latency_csv)) data.latency_csv.clear();  // no row of it was whole
    changed = MergeParts(run.folder, StemOf(data), data) || changed;
  }
  if (run.status == RunData::Status::kRunning) run.status = RunData::Status::kInterrupted;
  changed = directory.WriteManifest(run) || changed;
  for (const ExperimentData& data : run.experiments)
    changed = RemoveParts(run.folder, StemOf(data), data) || changed;
  return changed;
}

}  // namespace etprof
