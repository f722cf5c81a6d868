#include "measure/store/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/file/beneath.h"
#include "core/file/file.h"
#include "core/file/process_folder.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "core/text/text.h"
#include "format/etdump/reader.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

// A forked process holds its parent's lock until it executes its program. If the parent is killed meanwhile,
// the forked process ends soon, so wait this long for it.
constexpr double kInheritedLockTimeoutSeconds = 5;

Error FolderError(const std::filesystem::path& folder, const std::string& problem, const char* remedy) {
  return Error(ExitCode::kDeviceFailed, problem).InFile(folder.string()).Remedy(remedy);
}

// True if two texts are equal JSON. The configuration in a manifest that was read and written again has its
// keys in another order.
bool SameJson(const std::string& a, const std::string& b) {
  return a == b ||
         (a.size() == b.size() && nlohmann::json::parse(a, nullptr, false) == nlohmann::json::parse(b));
}

// The folder that create_directories(folder) would create first; empty: `folder` exists.
std::filesystem::path TopmostMissingFolder(std::filesystem::path folder) {
  std::filesystem::path missing;
  for (; !folder.empty() && !Exists(folder); folder = folder.parent_path()) missing = folder;
  return missing;
}

}  // namespace

RunDirectory RunDirectory::Open(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path created = TopmostMissingFolder(folder);
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    throw FolderError(folder,
                      fmt::format("cannot be made a folder: {}", error ? error.message() : "a file is there"),
                      "choose another --output-root");
  }
  const std::filesystem::path path = folder / kLockFile;
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644));
  struct stat status {};
  if (lock ? ::fstat(lock.number(), &status) == 0 && !S_ISREG(status.st_mode)
           : errno == EISDIR || errno == ELOOP)
    throw FolderError(path, "is not a regular file", "remove it");
  if (!lock) {
    throw FolderError(folder, fmt::format("cannot be written: {}", std::strerror(errno)),
                      "choose another --output-root");
  }
  double waited = 0;
  while (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 32> pid_text{};
    const ssize_t length = ::pread(lock.number(), pid_text.data(), pid_text.size() - 1, 0);
    std::string holder = length > 0 ? pid_text.data() : "unknown";
    while (!holder.empty() && holder.back() == '\n') holder.pop_back();
    const auto process = AsNumber<pid_t>(holder);
    if (process && ProcessIsGone(*process) && waited < kInheritedLockTimeoutSeconds) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      waited += 0.01;
      continue;
    }
    throw FolderError(folder, fmt::format("another etprof (process {}) is measuring into it", holder),
                      "wait for it, or choose another --output-root");
  }
  // Another process removed the file, as ~RunDirectory does, after it was opened here.
  if (::fstat(lock.number(), &status) == 0 && status.st_nlink == 0) return Open(folder);
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.number(), 0) != 0 || ::pwrite(lock.number(), pid.data(), pid.size(), 0) < 0)
    throw FolderError(folder, fmt::format("cannot be written: {}", std::strerror(errno)), "free some space");
  // No other process writes here now, so temporary files are leftovers of killed processes.
  RemoveStaleTemporaries(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.symlink_status(error).type() == std::filesystem::file_type::directory)
      RemoveStaleTemporaries(entry.path());
  }
  return RunDirectory(folder, created, std::move(lock));
}

RunDirectory::~RunDirectory() {
  if (!lock_ || created_.empty()) return;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename() != kLockFile) return;
  }
  if (error) return;
  std::filesystem::remove(folder_ / kLockFile, error);
  // Removes only empty folders.
  for (std::filesystem::path path = folder_; std::filesystem::remove(path, error) && path != created_;)
    path = path.parent_path();
}

bool RunDirectory::IsFileOfRun(const std::filesystem::path& file, const std::string& name) const {
  std::error_code error;
  return !file.empty() && std::filesystem::equivalent(file, folder_ / name, error);
}

std::filesystem::path RunDirectory::ArchiveOldRun(const std::vector<std::string>& experiments,
                                                  const std::filesystem::path& user_config) const {
  std::error_code error;
  std::set<std::string> names(experiments.begin(), experiments.end());
  for (const MovedFile& file : kMovedFiles) {
    if (file.match == MovedFile::Match::kWhole) names.emplace(file.name);
  }
  if (Exists(folder_ / kManifestFile)) {
    const nlohmann::json manifest = ParseJson(ReadTextFile(folder_ / kManifestFile));
    RunData old;
    old.folder = folder_;
    if (manifest.is_object()) ReadManifest(manifest, old);
    for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
      const std::string name = entry.path().filename().string();
      for (const MovedFile& file : kMovedFiles) {
        const bool is_kernel_view = file.match == MovedFile::Match::kKernelView &&
                                    name.starts_with(file.name) && name.ends_with(".md");
        const bool is_model_file = file.match == MovedFile::Match::kAfterModel && !old.model_id.empty() &&
                                   name.starts_with(old.model_id + "_") && name.ends_with(file.name);
        if (is_kernel_view || is_model_file) names.insert(name);
      }
    }
    for (const ExperimentData& experiment : old.experiments) {
      const std::filesystem::path name = experiment.name;
      if (!name.empty() && !name.has_parent_path() && name != "." && name != "..")
        names.insert(name.string());
    }
  }
  std::erase_if(names, [&](const std::string& name) {
    return !Exists(folder_ / name) || IsFileOfRun(user_config, name);
  });
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

bool RunDirectory::WriteManifest(const RunData& run) const {
  bool changed = false;
  // metrics.json is written first, so that the manifest never exists without it.
  for (const auto& [name, value] : {std::pair(kMetricsFile, ToJson(Metrics(run), run.folder)),
                                    {kManifestFile, ToJson(run, run.folder)}}) {
    // JsonText replaces text that is not UTF-8 (a file name, a worker's message) instead of throwing.
    const std::string text = JsonText(value, 1) + "\n";
    const std::filesystem::path file = folder_ / name;
    if (IsFileBeneath(folder_, name) && SameJson(ReadTextFile(file), text)) continue;
    WriteFileAtomically(file, text);
    changed = true;
  }
  return changed;
}

std::string EtdumpPart(const std::string& stem, int index) {
  const std::filesystem::path path = stem;
  return (path.parent_path() / "launches" / fmt::format("{}_l{:03}.etdump", path.filename().string(), index))
      .string();
}

std::size_t CountRuns(const std::filesystem::path& path) { return ExecuteTimes(ReadEtdumpFile(path)).size(); }

namespace {

// Start and end of the first event of each block. These times distinguish the runs of a launch from all
// others.
std::set<std::pair<Nanoseconds, Nanoseconds>> FirstEventTimes(const Trace& trace) {
  std::set<std::pair<Nanoseconds, Nanoseconds>> event_times;
  for (const Trace::Block& block : trace.blocks) {
    if (block.event_count > 0)
      event_times.emplace(trace.start[block.first_event], trace.end[block.first_event]);
  }
  return event_times;
}

// The parts of an experiment, in the order in which they are merged.
struct EtdumpParts {
  std::filesystem::path merged;                 // the experiment's ETDump, relative to the folder
  bool have_merged = false;                     // `merged` exists
  std::size_t runs = 0;                         // number of runs in `merged` and the unmerged parts together
  std::vector<std::filesystem::path> unmerged;  // parts that are not in `merged` yet, relative to the folder
  std::vector<const Launch*> launches;          // launches of all parts, in the order of the merged file
  std::vector<RunLabel> labels;                 // labels of the launches' runs, in that order
  bool labels_known = true;
  std::vector<std::string> warnings;

  std::vector<std::filesystem::path> Inputs(const std::filesystem::path& folder) const {
    std::vector<std::filesystem::path> inputs;
    if (have_merged) inputs.push_back(folder / merged);
    for (const std::filesystem::path& part : unmerged) inputs.push_back(folder / part);
    return inputs;
  }
};

EtdumpParts CollectParts(const std::filesystem::path& folder, const std::string& stem,
                         const ExperimentData& data) {
  EtdumpParts parts;
  if (std::ranges::all_of(data.launches, [](const Launch& launch) { return launch.etdump_part.empty(); }))
    return parts;
  parts.merged = stem + ".etdump";
  parts.have_merged = Exists(folder / parts.merged);
  std::set<std::pair<Nanoseconds, Nanoseconds>> merged_times;
  if (parts.have_merged) {
    const Trace trace = ReadEtdumpFile(folder / parts.merged);
    merged_times = FirstEventTimes(trace);
    parts.runs = ExecuteTimes(trace).size();
  }
  std::vector<const Launch*> unmerged_launches;
  for (const Launch& launch : data.launches) {
    const std::filesystem::path part = launch.etdump_part;
    if (part.empty()) continue;
    const auto exclude = [&](const std::string& reason) {
      parts.warnings.push_back(
          fmt::format("launch {}: its ETDump is excluded: {}", launch.index + 1, reason));
    };
    if (part != EtdumpPart(stem, launch.index)) {
      exclude(fmt::format("{} is not a name that etprof gives", part.string()));
      continue;
    }
    if (!IsFileBeneath(folder, part)) {
      exclude(fmt::format("{} is not there, or is reached by a link", part.string()));
      continue;
    }
    try {
      const Trace trace = ReadEtdumpFile(folder / part);
      const std::size_t runs = ExecuteTimes(trace).size();
      parts.labels_known = parts.labels_known && runs == launch.traced_runs.size();
      const auto event_times = FirstEventTimes(trace);
      if (!event_times.empty() && std::ranges::includes(merged_times, event_times)) {
        parts.launches.push_back(&launch);
      } else {
        unmerged_launches.push_back(&launch);
        parts.unmerged.push_back(part);
        parts.runs += runs;
      }
    } catch (const Error& problem) {
      exclude(problem.Message());
    }
  }
  parts.launches.insert(parts.launches.end(), unmerged_launches.begin(), unmerged_launches.end());
  for (const Launch* launch : parts.launches)
    parts.labels.insert(parts.labels.end(), launch->traced_runs.begin(), launch->traced_runs.end());
  return parts;
}

// Updates `data` after its parts were merged.
void UpdateAfterMerge(const std::filesystem::path& folder, const EtdumpParts& parts, ExperimentData& data) {
  for (const std::string& warning : parts.warnings) AppendUnique(warning, data.warnings);
  if (parts.launches.empty()) return;
  data.etdump = folder / parts.merged;
  data.etdump_runs.insert(data.etdump_runs.end(), parts.labels.begin(), parts.labels.end());
  if (!parts.labels_known || data.etdump_runs.size() != parts.runs) {
    data.etdump_runs.clear();
    AppendUnique(
        "its ETDump has another number of runs than was asked for: of which launch they are is not known",
        data.warnings);
  }
  const std::set<const Launch*> merged(parts.launches.begin(), parts.launches.end());
  for (Launch& launch : data.launches) {
    if (!merged.contains(&launch)) continue;
    launch.traced_runs.clear();
    launch.etdump_part.clear();
  }
}

}  // namespace

bool MergeParts(const std::filesystem::path& folder, const std::string& stem, ExperimentData& data) {
  const EtdumpParts parts = CollectParts(folder, stem, data);
  if (!parts.unmerged.empty()) {
    const std::filesystem::path merged = folder / parts.merged;
    if (!IsFolderBeneath(folder, parts.merged.parent_path()))
      throw Error(ExitCode::kBadInput, "is reached by a link")
          .InFile(merged.string())
          .Remedy("remove the link");
    WriteFileAtomically(merged, MergeEtdumps(parts.Inputs(folder)));
    const std::size_t runs = CountRuns(merged);
    if (runs != parts.runs) {
      throw Error(ExitCode::kDeviceFailed,
                  fmt::format("{} runs were written, and {} are read back", parts.runs, runs))
          .InFile(merged.string())
          .Remedy("check the disk. The launches' own ETDumps are kept next to it");
    }
  }
  UpdateAfterMerge(folder, parts, data);
  return !parts.launches.empty();
}

void MergePartsInMemory(const std::filesystem::path& folder, const std::string& stem, ExperimentData& data) {
  const EtdumpParts parts = CollectParts(folder, stem, data);
  if (!parts.unmerged.empty())
    data.etdump_contents = std::make_shared<const std::string>(MergeEtdumps(parts.Inputs(folder)));
  UpdateAfterMerge(folder, parts, data);
}

bool RemoveParts(const std::filesystem::path& folder, const std::string& stem, const ExperimentData& data) {
  std::set<std::filesystem::path> listed_parts;
  for (const Launch& launch : data.launches) listed_parts.insert(launch.etdump_part);
  const std::filesystem::path parts = std::filesystem::path(EtdumpPart(stem, 0)).parent_path();
  if (!IsFolderBeneath(folder, parts)) return false;
  std::vector<std::filesystem::path> unlisted_parts;
  std::error_code error;
  for (std::filesystem::directory_iterator iterator(folder / parts, error), end; !error && iterator != end;
       iterator.increment(error)) {
    const std::filesystem::path name = parts / iterator->path().filename();
    const std::string text = name.stem().string();
    const auto index = AsNumber<int>(std::string_view(text).substr(text.rfind('l') + 1));
    if (index && *index >= 0 && name == EtdumpPart(stem, *index) && !listed_parts.contains(name) &&
        IsFileBeneath(folder, name))
      unlisted_parts.push_back(name);
  }
  for (const std::filesystem::path& name : unlisted_parts) RemoveFileBeneath(folder, name);
  return !unlisted_parts.empty();
}

}  // namespace etprof
