#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/file.h"
#include "measure/latency_csv.h"
#include "measure/manifest.h"
#include "measure/run_data.h"
#include "measure/run_directory.h"

namespace etprof {
namespace {

bool ReadManifestFile(RunData& run) {
  const std::filesystem::path path = run.folder / "manifest.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  try {
    const nlohmann::json manifest = nlohmann::json::parse(ReadTextFile(path), nullptr, false);
    if (manifest.is_object()) {
      ReadManifest(manifest, run);
      return true;
    }
    run.problems.push_back("manifest.json is not JSON");
  } catch (const Error& problem) {
    run.problems.push_back(problem.Message());
  }
  return false;
}

// ETDumps below the folder, but not earlier runs' and not parts of launches; in the order of their paths.
std::vector<std::filesystem::path> FindEtdumps(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  auto iterator = std::filesystem::recursive_directory_iterator(
      folder, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && iterator != std::filesystem::recursive_directory_iterator(); iterator.increment(error)) {
    const std::string name = iterator->path().filename().string();
    std::error_code ignored;
    if (iterator->is_directory(ignored)) {
      if (name == "previous" || name == "launches" || iterator.depth() > 6)
        iterator.disable_recursion_pending();
    } else if (iterator->path().extension() == ".etdump" && iterator->is_regular_file(ignored)) {
      found.push_back(iterator->path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// "<anything>_t4" -> 4.
int ThreadsOfStem(std::string& stem) {
  const std::size_t at = stem.rfind("_t");
  if (at == std::string::npos || at + 2 >= stem.size() || stem.size() - at > 5) return 1;
  if (!std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(at) + 2, stem.end(),
                   [](unsigned char c) { return std::isdigit(c) != 0; }))
    return 1;
  const int threads = std::max(1, std::stoi(stem.substr(at + 2)));
  stem.erase(at);
  return threads;
}

// An ETDump that no manifest tells of: the seeds' layouts, `<experiment>/<model>_<experiment>_t<n>.etdump`
// and flat ones.
ExperimentData FromBareFile(const std::filesystem::path& path, const std::filesystem::path& folder,
                            std::string& model_id) {
  ExperimentData data;
  std::string stem = path.stem().string();
  data.threads = ThreadsOfStem(stem);
  data.name = path.parent_path() == folder ? stem : path.parent_path().filename().string();
  if (stem.size() > data.name.size() && stem.ends_with("_" + data.name)) {
    if (model_id.empty()) model_id = stem.substr(0, stem.size() - data.name.size() - 1);
  } else if (stem != data.name && path.parent_path() != folder) {
    data.name = stem;  // several files in one folder
  }
  data.label = data.name;
  data.etdump = path;
  std::error_code error;
  for (const char* suffix : {".log", "_latency.log"}) {
    std::filesystem::path log = path;
    log.replace_filename(path.stem().string() + suffix);
    if (data.log.empty() && std::filesystem::exists(log, error)) data.log = log;
  }
  std::filesystem::path trace = path;
  trace.replace_filename(path.stem().string() + "_xnntrace.log");
  if (std::filesystem::exists(trace, error)) {
    data.xnntrace_log = trace;
    data.trace_enabled = true;
    data.mode = "xnntrace";
  }
  data.foreign = true;
  data.tracer_always_on = true;
  return data;
}

void AddBareFiles(RunData& run) {
  std::set<std::filesystem::path> known;
  for (const ExperimentData& experiment : run.experiments) known.insert(experiment.etdump.lexically_normal());
  std::vector<ExperimentData> found;
  for (const std::filesystem::path& path : FindEtdumps(run.folder)) {
    if (known.contains(path.lexically_normal())) continue;
    ExperimentData data = FromBareFile(path, run.folder, run.model_id);
    // A manifest of another tool may have named the experiment without its file.
    const auto same =
        std::find_if(run.experiments.begin(), run.experiments.end(), [&](const ExperimentData& e) {
          return e.name == data.name && e.threads == data.threads && e.etdump.empty();
        });
    if (same != run.experiments.end() && same->launches.empty()) {
      same->etdump = path;
      if (same->log.empty()) same->log = data.log;
    } else {
      found.push_back(std::move(data));
    }
  }
  // Names must tell them apart.
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (found[j].name == found[i].name && found[j].threads != found[i].threads) {
        for (const std::size_t k : {i, j})
          found[k].label = fmt::format("{}, {} threads", found[k].name, found[k].threads);
      }
    }
  }
  for (ExperimentData& data : found) run.experiments.push_back(std::move(data));
}

void CheckExperiment(ExperimentData& data, std::vector<std::string>& problems) {
  std::error_code error;
  const auto check = [&](std::filesystem::path& path, const char* what) {
    if (path.empty() || std::filesystem::exists(path, error)) return;
    problems.push_back(fmt::format("{}: its {} is missing ({})", data.label, what, path.string()));
    path.clear();
  };
  check(data.etdump, "ETDump");
  check(data.latency_csv, "latency file");
  check(data.log, "log");
  check(data.xnntrace_log, "XNNPACK log");
  if (data.etdump.empty()) data.etdump_runs.clear();
  if (!data.latency_csv.empty()) {
    try {
      ReadLatencies(data.latency_csv, data.launches, problems);
    } catch (const Error& problem) {
      problems.push_back(problem.Message());
    }
  } else if (!data.launches.empty() && data.error.empty()) {
    problems.push_back(fmt::format("{}: without its latency file only traced times are known", data.label));
  }
}

}  // namespace

RunData LoadRunDirectory(const std::filesystem::path& folder, bool with_bare_files) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ExitCode::kBadInput,
                std::filesystem::exists(folder, error) ? "is not a folder" : "no such folder")
        .InFile(folder.string())
        .Remedy("give a run directory, as `etprof run` or `etprof profile` makes it");
  }
  RunData run;
  run.folder = std::filesystem::absolute(folder).lexically_normal();
  if (!run.folder.has_filename()) run.folder = run.folder.parent_path();
  const bool manifest = ReadManifestFile(run);
  for (ExperimentData& data : run.experiments) CheckExperiment(data, run.problems);
  if (with_bare_files) AddBareFiles(run);
  const bool nothing =
      std::none_of(run.experiments.begin(), run.experiments.end(),
                   [](const ExperimentData& data) { return !data.etdump.empty() || !data.launches.empty(); });
  if (nothing && !manifest) {
    throw Error(ExitCode::kBadInput, "holds no ETDump and no manifest.json")
        .InFile(folder.string())
        .Remedy("give a run directory, as `etprof run` or `etprof profile` makes it");
  }
  if (!manifest)
    run.problems.push_back("there is no manifest.json: how and where this was measured is not known");
  if (run.status == RunData::Status::kRunning) {
    run.problems.push_back("the measurement was killed, or still runs: what it has stored so far is here");
  }
  if (run.status == RunData::Status::kInterrupted)
    run.problems.push_back("the measurement was interrupted; --resume goes on");
  for (const ExperimentData& data : run.experiments) {
    if (!data.error.empty()) run.problems.push_back(fmt::format("{}: failed: {}", data.label, data.error));
  }
  return run;
}

bool RecoverRunDirectory(const std::filesystem::path& folder) {
  RunData run;
  run.folder = std::filesystem::absolute(folder).lexically_normal();
  if (!run.folder.has_filename()) run.folder = run.folder.parent_path();
  if (!ReadManifestFile(run)) return false;
  if (run.config_hash.empty()) return false;  // not a manifest of etprof: it is only read
  const bool parts =
      std::any_of(run.experiments.begin(), run.experiments.end(), [](const ExperimentData& data) {
        return std::any_of(data.launches.begin(), data.launches.end(),
                           [](const Launch& l) { return !l.etdump_part.empty(); });
      });
  if (!parts && run.status != RunData::Status::kRunning) return false;
  try {
    const RunDirectory directory = RunDirectory::Open(run.folder);
    for (ExperimentData& data : run.experiments) {
      if (!data.latency_csv.empty()) ReadLatencies(data.latency_csv, data.launches, run.problems);
    }
    std::vector<std::filesystem::path> merged;
    for (ExperimentData& data : run.experiments) {
      const std::string stem =
          fmt::format("{}/{}_{}_t{}", data.name, data.model.stem().string(), data.name, data.threads);
      const auto more = MergeParts(run.folder, stem, data);
      merged.insert(merged.end(), more.begin(), more.end());
    }
    if (run.status == RunData::Status::kRunning) run.status = RunData::Status::kInterrupted;
    directory.WriteManifest(run);
    RemoveParts(merged);
    return true;
  } catch (const Error&) {
    return false;  // measured right now by another etprof, or not writable: it is read as it is
  }
}

}  // namespace etprof
