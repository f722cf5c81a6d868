#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "history/history_file.h"
#include "history/trends.h"

namespace etprof {

struct Config;

// The history to which a finished measurement is added, as `etprof history add` does.
struct HistoryRequest {
  std::string file;              // "": no history
  std::string commit = "HEAD";   // any name that git resolves here, or any other name
  std::string reference = {};    // name of an experiment that every run has; "": none
  std::string device_name = {};  // replaces the device name "local"; "": keep it
  bool IsRequested() const { return !file.empty(); }

  static void Describe(auto& v) {
    v("history", &HistoryRequest::file,
      {.meaning = "Add the finished measurement to this history (docs/guides/history.md)", .value = "FILE"});
    v("commit", &HistoryRequest::commit,
      {.meaning = "Commit to add the measurement to: HEAD, a hash, or any name (default: HEAD)",
       .value = "SHA"});
    v("reference", &HistoryRequest::reference,
      {.meaning = "Experiment that does not change with the commit, to compare the others with",
       .value = "NAME"});
    v("device_name", &HistoryRequest::device_name,
      {.meaning = "Name of this machine in the history, such as ci-3 (default: local)", .value = "NAME"});
  }
};

struct AddToHistoryOptions : HistoryRequest {
  std::vector<std::string> runs = {};  // results directories
  // Time of the commit: ISO 8601 in UTC, or seconds since 1970; "": from git, or the time of the measurement.
  std::string time = {};
  HistoryFile::CommitConflict on_conflict = HistoryFile::CommitConflict::kRefused;
};

struct HistoryAdditions {
  struct Run {
    std::string path;
    HistoryFile::AddOutcome added = HistoryFile::AddOutcome::kNew;
    std::vector<std::string> omitted_experiments;
    std::vector<SeriesKey> operator_conflicts;  // result of HistoryFile::FindOperatorConflicts
  };
  std::vector<Run> runs;
  std::string commit;  // full hash if git knows the commit, else the name that was given
  // The working directory is in a checkout in which git does not know the commit, and no time was given.
  bool unknown_commit = false;
  std::int64_t run_count = 0;  // number of runs in the history after the addition
};

// Adds all of the runs, or none if one of them cannot be read. Throws Error.
HistoryAdditions AddToHistory(const AddToHistoryOptions& options);

// Throws Error (kUsage), before the measurement, if the configuration lacks the experiment that is the
// reference.
void RequireReference(const HistoryRequest& request, const Config& config);

// The result of adding measurements to a history. Both members are absent if no history was requested or no
// measurement finished.
struct HistoryUpdate {
  std::optional<HistoryAdditions> added;
  std::optional<Error> error;  // the runs themselves are complete nevertheless
};

// Adds finished measurements to the history that a command names. Uses the commit that is checked out when
// the measurement begins.
class HistoryRecorder {
 public:
  // Throws Error, before hours of measuring, if nothing could be added: if there is no such
  // commit, and as HistoryFile::RequireAddable.
  explicit HistoryRecorder(const HistoryRequest& request);
  // Adds the run in a results directory.
  HistoryUpdate Record(const std::filesystem::path& run,
                       HistoryFile::CommitConflict on_conflict = HistoryFile::CommitConflict::kRefused) const;

 private:
  HistoryRequest request_;
};

struct HistoryOptions {
  std::string file = kHistoryFile;
  HistoryFilter filter;
  TrendOptions trends;
};

// Throws Error (kBadInput) if there is no such file, or if no series passes the filter.
HistoryReport ReadHistory(const HistoryOptions& options);

}  // namespace etprof
