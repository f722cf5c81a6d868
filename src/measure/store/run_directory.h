#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "measure/store/run_data.h"

namespace etprof {

// A results directory that this process alone writes, for as long as the object lives.
class RunDirectory {
 public:
  // Creates the folder if need be and takes its lock. Throws Error (kDeviceFailed) when another etprof holds
  // it (naming its process) or the folder cannot be written.
  static RunDirectory Open(const std::filesystem::path& folder);
  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::filesystem::path& folder() const { return folder_; }

  // Moves what an earlier measurement left (its manifest, reports, and the folders of its experiments and of
  // `experiments`) to previous/<UTC time>/. Touches nothing else that may be in the folder. Returns where it
  // went; empty: there was nothing. `keep` (a configuration that the user wrote) stays even if it lies there.
  std::filesystem::path MoveOldRunAway(const std::vector<std::string>& experiments,
                                       const std::filesystem::path& keep = {}) const;
  // Whether `file` is `name` in this directory.
  bool Holds(const std::filesystem::path& file, const std::string& name) const;

  // manifest.json and metrics.json, by write-then-rename. Returns whether they were others before.
  bool WriteManifest(const RunData& run) const;

 private:
  RunDirectory(std::filesystem::path folder, int lock) : folder_(std::move(folder)), lock_(lock) {}
  std::filesystem::path folder_;
  int lock_;
};

// The results directory whose manifest tells of the folder of one of its experiments; "": of no other folder.
std::filesystem::path RunAbove(const std::filesystem::path& folder);

// Measured ETDumps of launches that are not in the experiment's ETDump yet are its parts
// (Launch::etdump_part): a measurement merges them when it ends, and one that was killed leaves them. Only
// files that etprof itself names so, and that are reached without links, are taken for parts.

// The ETDump of one launch, relative to the results directory: "<experiment>/launches/<stem>_l003.etdump".
std::string EtdumpPart(const std::string& stem, int index);

// Merges the parts into `<stem>.etdump`, reads that back, notes their runs in etdump_runs, and forgets them
// in `data`. A part that is in it already (it was killed after merging) is not merged again. One that cannot
// be read stays a part, and a warning of `data` says so. Returns whether there was any to merge; the files
// are to be removed (RemoveParts) once the manifest was written. Throws Error when something could not be
// written or reads back otherwise; then `data` and the parts are as they were.
bool MergeParts(const std::filesystem::path& folder, const std::string& stem, ExperimentData& data);
// Removes what has a part's name and is none of `data`'s: merged by now (a killed process did not get to
// remove it), or of a launch that the manifest does not know, which is measured again. Once the manifest was
// written. Returns whether there was any.
bool RemoveParts(const std::filesystem::path& folder, const std::string& stem, const ExperimentData& data);

// The same in memory: afterwards `data` reads as if the parts were merged, and nothing on disk has changed.
void TakeParts(const std::filesystem::path& folder, const std::string& stem, ExperimentData& data);

// How many runs (blocks with a Method::execute) an ETDump has. Throws Error.
std::size_t CountRuns(const std::filesystem::path& etdump);

}  // namespace etprof
