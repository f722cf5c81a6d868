#include "measure/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/utc.h"
#include "etdump/reader.h"
#include "measure/manifest.h"

namespace etprof {
namespace {

constexpr const char* kLockFile = ".lock";

Error FolderError(const std::filesystem::path& folder, const std::string& problem, const char* remedy) {
  return Error(ExitCode::kDeviceFailed, problem).InFile(folder.string()).Remedy(remedy);
}

}  // namespace

RunDirectory RunDirectory::Open(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    throw FolderError(folder,
                      fmt::format("cannot be made a folder: {}", error ? error.message() : "a file is there"),
                      "choose another --output-root");
  }
  const std::filesystem::path path = folder / kLockFile;
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) {
    throw FolderError(folder, fmt::format("cannot be written: {}", std::strerror(errno)),
                      "choose another --output-root");
  }
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 32> holder{};
    const ssize_t length = ::pread(lock, holder.data(), holder.size() - 1, 0);
    ::close(lock);
    std::string who = length > 0 ? holder.data() : "unknown";
    while (!who.empty() && who.back() == '\n') who.pop_back();
    throw FolderError(folder, fmt::format("another etprof (process {}) is measuring into it", who),
                      "wait for it, or choose another --output-root");
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock, 0) != 0 || ::pwrite(lock, pid.data(), pid.size(), 0) < 0) {
    const int reason = errno;
    ::close(lock);
    throw FolderError(folder, fmt::format("cannot be written: {}", std::strerror(reason)), "free some space");
  }
  return RunDirectory(folder, lock);
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : folder_(std::move(other.folder_)), lock_(std::exchange(other.lock_, -1)) {}

RunDirectory::~RunDirectory() {
  // The file stays: removing it would let two processes hold locks on two files of that name.
  if (lock_ >= 0) ::close(lock_);
}

bool RunDirectory::Holds(const std::filesystem::path& file, const std::string& name) const {
  std::error_code error;
  return !file.empty() && std::filesystem::equivalent(file, folder_ / name, error);
}

std::filesystem::path RunDirectory::MoveOldRunAway(const std::vector<std::string>& experiments,
                                                   const std::filesystem::path& keep) const {
  std::error_code error;
  std::set<std::string> names(experiments.begin(), experiments.end());
  for (const char* file : {"manifest.json", "metrics.json", "pipeline_summary.json", "pipeline_summary.md",
                           "analysis_summary.json", "peaks.json", "report.md", "report.html", "report.json",
                           "kernel_view.md", "kernel_view_gemm.md", "trace.pftrace", "trace.json"}) {
    names.insert(file);
  }
  if (Exists(folder_ / "manifest.json")) {
    names.insert("config.json");  // `etprof profile` wrote it; without a manifest it may be a user's own
    const nlohmann::json manifest = ParseJson(ReadTextFile(folder_ / "manifest.json"));
    RunData old;
    old.folder = folder_;
    if (manifest.is_object()) ReadManifest(manifest, old);
    for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
      const std::string name = entry.path().filename().string();
      if (old.model_id.empty() || !name.starts_with(old.model_id + "_")) continue;
      for (const char* end :
           {"_pipeline_summary.json", "_pipeline_summary.md", "_comparison.csv", "_robust_comparison.json"}) {
        if (name.ends_with(end)) names.insert(name);
      }
    }
    for (const ExperimentData& experiment : old.experiments) {
      const std::filesystem::path name = experiment.name;
      if (!name.empty() && !name.has_parent_path() && name != "." && name != "..")
        names.insert(name.string());
    }
  }
  std::erase_if(names, [&](const std::string& name) { return !Exists(folder_ / name) || Holds(keep, name); });
  if (names.empty()) return {};
  std::filesystem::path target = folder_ / "previous" / UtcNowForFileName();
  for (int i = 2; Exists(target); ++i) {
    target = folder_ / "previous" / fmt::format("{}-{}", UtcNowForFileName(), i);
  }
  std::filesystem::create_directories(target, error);
  for (const std::string& name : names) {
    if (!error) std::filesystem::rename(folder_ / name, target / name, error);
  }
  if (error) {
    throw FolderError(folder_, fmt::format("its earlier run cannot be moved away: {}", error.message()),
                      "choose another --output-root");
  }
  return target;
}

void RunDirectory::WriteManifest(const RunData& run) const {
  // A text that is no UTF-8 (a file name, a worker's message) is replaced, not thrown about.
  const auto text = [](const nlohmann::ordered_json& value) {
    return value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  };
  WriteFileAtomically(folder_ / "manifest.json", text(ManifestJson(run)));
  WriteFileAtomically(folder_ / "metrics.json", text(MetricsJson(run)));
}

std::size_t CountRuns(const std::filesystem::path& path) { return ExecuteTimes(ReadEtdumpFile(path)).size(); }

std::vector<std::filesystem::path> MergeParts(const std::filesystem::path& folder, const std::string& stem,
                                              ExperimentData& data) {
  const std::filesystem::path merged = folder / (stem + ".etdump");
  const bool have_old = Exists(merged);
  std::vector<std::filesystem::path> inputs, parts;
  std::vector<RunLabel> labels;
  bool labels_known = true;
  if (have_old) inputs.push_back(merged);
  for (const Launch& launch : data.launches) {
    if (launch.etdump_part.empty()) continue;
    const std::filesystem::path part = folder / launch.etdump_part;
    parts.push_back(part);
    if (!Exists(part)) continue;
    try {
      labels_known = labels_known && CountRuns(part) == launch.traced_runs.size();
    } catch (const Error& problem) {
      data.warnings.push_back(
          fmt::format("launch {}: its ETDump is left out: {}", launch.index + 1, problem.Message()));
      continue;
    }
    inputs.push_back(part);
    labels.insert(labels.end(), launch.traced_runs.begin(), launch.traced_runs.end());
  }
  if (inputs.size() > (have_old ? 1U : 0U)) {
    const bool merged_already = have_old && CountRuns(merged) == data.etdump_runs.size() + labels.size();
    if (!merged_already) MergeEtdumps(inputs, merged);
    data.etdump = merged;
    data.etdump_runs.insert(data.etdump_runs.end(), labels.begin(), labels.end());
    if (!labels_known) {
      data.etdump_runs.clear();
      data.warnings.push_back(
          "its ETDump has another number of runs than was asked for: of which launch they are is not known");
    }
  }
  for (Launch& launch : data.launches) {
    if (!launch.etdump_part.empty()) launch.traced_runs.clear();
    launch.etdump_part.clear();
  }
  return parts;
}

void RemoveParts(const std::vector<std::filesystem::path>& parts) {
  std::error_code error;
  for (const std::filesystem::path& part : parts) {
    std::filesystem::remove(part, error);
    if (std::filesystem::is_empty(part.parent_path(), error) && !error)
      std::filesystem::remove(part.parent_path(), error);
  }
}

}  // namespace etprof
