#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "measure/run_data.h"

namespace etprof {

// A run directory that this process alone writes, for as long as the object lives.
class RunDirectory {
 public:
  // Creates the folder if need be and takes its lock. Throws Error (kDeviceFailed) when another etprof holds
  // it (naming its process) or the folder cannot be written.
  static RunDirectory Open(const std::filesystem::path& folder);
  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  ~RunDirectory();

  const std::filesystem::path& folder() const { return folder_; }

  // Moves what an earlier measurement left (its manifest, reports, and the folders of its experiments and of
  // `experiments`) to previous/<UTC time>/. Touches nothing else that may be in the folder. Returns where it
  // went; empty: there was nothing. `keep` (a configuration that the user wrote) stays even if it lies there.
  std::filesystem::path MoveOldRunAway(const std::vector<std::string>& experiments,
                                       const std::filesystem::path& keep = {}) const;
  // Whether `file` is `name` in this directory.
  bool Holds(const std::filesystem::path& file, const std::string& name) const;

  // manifest.json and metrics.json, by write-then-rename.
  void WriteManifest(const RunData& run) const;

 private:
  RunDirectory(std::filesystem::path folder, int lock) : folder_(std::move(folder)), lock_(lock) {}
  std::filesystem::path folder_;
  int lock_;
};

// Merges the launches' parts that are not yet in the experiment's ETDump into it, notes their runs in
// etdump_runs, and forgets the parts (etdump_part). Returns their files: to be removed once the manifest was
// written. Killed before that, the next MergeParts sees that they are in already. Throws Error when something
// could not be written; then nothing has changed.
std::vector<std::filesystem::path> MergeParts(const std::filesystem::path& folder, const std::string& stem,
                                              ExperimentData& data);
// Removes the files, and the folders that are empty without them.
void RemoveParts(const std::vector<std::filesystem::path>& parts);

// How many runs (blocks with a Method::execute) an ETDump has. Throws Error.
std::size_t CountRuns(const std::filesystem::path& etdump);

}  // namespace etprof
