#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "history/history_file.h"
#include "history/trends.h"
#include "workflow/output.h"

namespace etprof {

struct AddToHistoryOptions {
  std::string file = kHistoryFile;
  std::vector<std::string> runs;  // results directories
  std::string commit;             // as CommitOf
  std::string time;         // of the commit: ISO 8601 in UTC, or seconds since 1970; "": as git says, or
                            // when the run was measured
  std::string reference;    // an experiment of every run; "": none
  std::string device_name;  // of "local"; "": that
  HistoryFile::OfOther of_other = HistoryFile::OfOther::kRefused;
};

// A commit as git knows it here, else the name as it is.
struct NamedCommit {
  std::string name;
  std::optional<UnixTime> time;  // absent: git does not know it
  bool unknown = false;          // there is a checkout here, and git does not know the commit in it
};
// Throws Error (kUsage) for none, and for HEAD where git knows none.
NamedCommit CommitOf(const std::string& name);

struct AddedToHistory {
  struct Run {
    std::string path;
    HistoryFile::Added added = HistoryFile::Added::kNew;
    std::vector<std::string> left_out;
    std::vector<SeriesKey> of_other_operators;  // as HistoryFile::OfOtherOperators
  };
  std::vector<Run> runs;
  std::string commit;           // in full where git knows it
  bool unknown_commit = false;  // as NamedCommit::unknown, and no time was given
  std::int64_t all = 0;         // runs in the history now
};

// Adds all of the runs, or, where one cannot be read, none. Throws Error.
AddedToHistory AddToHistory(const AddToHistoryOptions& options);

// As the functions of HistoryFile. They throw Error (kBadInput) where there is no such history.
std::vector<SeriesKey> AcceptInHistory(const std::string& file, const HistoryFilter& filter,
                                       const std::string& commit, const std::string& reason);
std::int64_t DeleteFromHistory(const std::string& file, const std::string& commit);
struct MergedHistory {
  std::int64_t added = 0, all = 0;  // runs
};
// All of the others, or, where one cannot be read, none. The file is created where there is none.
MergedHistory MergeHistories(const std::string& file, const std::vector<std::string>& others);

// Where a finished measurement is added, as `etprof history add` does.
struct HistoryRequest {
  std::string file;             // "": nowhere
  std::string commit = "HEAD";  // any name that git knows here, or any other name
  std::string reference;        // an experiment of every run; "": none
  std::string device_name;      // of "local"; "": that
  bool Asked() const { return !file.empty(); }

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

// What became of adding measurements to a history; nothing of both: none was asked for, or none is finished.
struct KeptInHistory {
  std::optional<AddedToHistory> added;
  std::optional<Error> error;  // the runs are where they were measured all the same
};

// Adds finished measurements to the history that a command names. The commit is the one that is there when
// the measurement begins.
class HistoryKeeper {
 public:
  // Throws Error, before hours of measuring, where nothing could be added: as CommitOf and
  // HistoryFile::RequireAddable.
  explicit HistoryKeeper(const HistoryRequest& request);
  KeptInHistory Keep(const std::vector<std::string>& runs,
                     HistoryFile::OfOther of_other = HistoryFile::OfOther::kRefused) const;

 private:
  AddToHistoryOptions options_;  // its file is empty where nothing is kept
};

struct HistoryOptions {
  std::string file = kHistoryFile;
  HistoryFilter filter;
  TrendOptions trends;
};

// Throws Error (kBadInput) where there is no such file, or no series that the filter leaves.
HistoryReport ReadHistory(const HistoryOptions& options);

// Writes what the filter leaves in a format of HistoryFormatNames(). Throws likewise.
void ExportHistory(const HistoryOptions& options, const std::string& format, const std::string& out,
                   const Output& write = WriteNamedFile);
std::vector<std::string> HistoryFormatNames();

}  // namespace etprof
