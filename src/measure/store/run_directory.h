#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/file/descriptor.h"
#include "measure/store/run_data.h"

namespace etprof {

// A results directory that is locked for writing by this process as long as the object lives.
class RunDirectory {
 public:
  // Creates the folder if needed and locks it. Throws Error (kDeviceFailed) if another etprof process holds
  // the lock (the message has its PID), or if the folder is not writable.
  static RunDirectory Open(const std::filesystem::path& folder);
  // Removes the folders that Open created if nothing was written into them.
  ~RunDirectory();
  RunDirectory(RunDirectory&&) = default;

  const std::filesystem::path& folder() const { return folder_; }

  // Moves the files of an earlier measurement (its manifest, reports, and the folders of its experiments and
  // of `experiments`) to previous/<UTC time>/, and leaves all other files. Returns the new folder; empty:
  // there were no such files. `user_config` (a configuration that the user wrote) stays in any case.
  std::filesystem::path ArchiveOldRun(const std::vector<std::string>& experiments,
                                      const std::filesystem::path& user_config = {}) const;
  // True if `file` is the file `name` of this directory, by any path.
  bool IsFileOfRun(const std::filesystem::path& file, const std::string& name) const;

  // Writes manifest.json and metrics.json atomically. Returns whether their contents changed.
  bool WriteManifest(const RunData& run) const;

 private:
  RunDirectory(std::filesystem::path folder, std::filesystem::path created, Descriptor lock)
      : folder_(std::move(folder)), created_(std::move(created)), lock_(std::move(lock)) {}
  std::filesystem::path folder_;
  std::filesystem::path created_;  // the topmost folder that Open created; empty: none
  // The lock file of a results directory stays, so that two processes cannot lock two files with its name.
  Descriptor lock_;
};

// Finds the results directory whose manifest has an experiment with this folder; empty: `folder` is not the
// folder of an experiment.
std::filesystem::path FindParentRun(const std::filesystem::path& folder);

// The parts of an experiment are the ETDumps of its launches (Launch::etdump_part). A measurement merges them
// when it ends; a killed measurement leaves them. Only files with names that EtdumpPart gives, and whose path
// has no links, count as parts.

// The ETDump of one launch, relative to the results directory: "<experiment>/launches/<stem>_l003.etdump".
std::string EtdumpPart(const std::string& stem, int index);

// Merges the parts into `<stem>.etdump`, checks the result by reading it, adds their runs to
// `data.etdump_runs`, and clears their `etdump_part`. A part that was already merged (by a killed process) is
// not merged again. An unreadable part stays, with a warning in `data`. Returns whether there were parts to
// merge; remove their files by RemoveParts after writing the manifest. Throws Error if the result cannot be
// written or has another number of runs; then `data` and the parts are unchanged.
bool MergeParts(const std::filesystem::path& folder, const std::string& stem, ExperimentData& data);
// Removes files with the name of a part that `data` does not list: merged parts, and parts of launches that
// the manifest does not have, which are measured again. Call this after writing the manifest. Returns whether
// there were such files.
bool RemoveParts(const std::filesystem::path& folder, const std::string& stem, const ExperimentData& data);

// Merges the parts in memory only: sets `data.etdump_contents`, and changes `data` as MergeParts does.
void MergePartsInMemory(const std::filesystem::path& folder, const std::string& stem, ExperimentData& data);

// The number of runs (blocks with a Method::execute event) in an ETDump. Throws Error.
std::size_t CountRuns(const std::filesystem::path& etdump);

}  // namespace etprof
