#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "history/database.h"
#include "history/history.h"

namespace etprof {

inline constexpr const char* kHistoryFile = "etprof-history.sqlite";

// Selects series and the extent of their data. Texts match parts of names, ignoring case; "": all.
struct HistoryFilter {
  std::string model = {}, device = {}, experiment = {};
  std::string operator_name = {};  // reads this operator's self time instead of the latency
  bool with_operators = false;     // also reads the self times of each operator
  std::size_t last = 200;          // maximum number of runs of a series; 0: all
};

// The self time of one operator, or of several together, in one run.
struct SelfTime {
  std::optional<double> mean;          // ns per inference; absent: the operator did not run
  std::vector<Nanoseconds> by_launch;  // self time in each launch, as in HistoryOperator::by_launch
};

// One run of a series.
struct TrendPoint : RunProperties, Artifact {
  std::int64_t result = 0;           // row id, which orders runs with equal times
  Artifact reference_artifact = {};  // files of the reference in this run
  std::vector<HistoryLaunch> launches = {};
  // HistoryLaunch::traced of the reference in the same launches; 0: no runs. Empty: there is no reference.
  std::vector<Nanoseconds> reference_traced = {};
  std::optional<double> reference_mean =
      {};                              // mean time of the reference's inference over its common set, ns
  SelfTime self = {};                  // self time of the operators in HistoryFilter::operator_name
  std::uint64_t operators_digest = 0;  // digest of the set of all operators; 0: not read
};

// An operator of a series, with its self time in each run.
struct OperatorTimes {
  std::string key, name;
  double share = 0;             // share of all self time, the mean over the runs
  std::vector<SelfTime> times;  // indexed like TrendData::points
};
// Operators with a smaller share are left out.
inline constexpr double kMinOperatorShare = 0.01;

// Accepts the changes of a series that begin with this commit or before, so that they fail no check.
struct Acceptance {
  std::string commit, reason;
  UnixTime time = 0;  // when the changes were accepted
};

struct TrendData {
  SeriesKey key;
  std::vector<TrendPoint> points;        // ordered by time of the commit, then of the measurement
  std::size_t earlier = 0;               // number of older runs that were left out
  std::vector<OperatorTimes> operators;  // only if HistoryFilter::with_operators is set
  std::vector<Acceptance> accepted;      // ordered by time
};

// The history of a project in one SQLite file (docs/guides/history.md). Any number of processes may read and
// write it at the same time. Changes are atomic, also if the process is killed or the disk is full.
class HistoryFile {
 public:
  // Throws if OpenToAdd would throw, as far as that is known without adding, and if any part of the file is
  // damaged.
  static void RequireAddable(const std::filesystem::path& file);
  // Opens the file, or creates one that does not exist. Throws Error (kBadInput) and leaves the file
  // unchanged if it is not a history of etprof, or one of a newer version.
  static HistoryFile OpenToAdd(const std::filesystem::path& file);
  // Throws like OpenToAdd, and if the file does not exist.
  static HistoryFile OpenToRead(const std::filesystem::path& file);

  enum class AddOutcome { kNew, kAlreadyThere, kReplaced };
  // If a run was already added with another commit, Add() throws Error (kUsage) or keeps the former commit.
  enum class CommitConflict { kRefused, kKeepCommit };
  // Adds a run. A run that was resumed since it was added replaces the former version.
  AddOutcome Add(HistoryRun run, CommitConflict on_conflict = CommitConflict::kRefused);

  // Accepts the changes up to a commit in all series that match the filter and have that commit, and returns
  // these series. The commit may be given by a unique prefix. Throws Error (kUsage) if no commit or several
  // commits match.
  std::vector<SeriesKey> Accept(const HistoryFilter& filter, const std::string& commit,
                                const std::string& reason, UnixTime at);
  // Deletes the runs of a commit (or unique prefix) and returns their number.
  std::int64_t Delete(const std::string& commit);
  // Adds the runs and acceptances of another history and returns the number of new runs. Of two acceptances
  // of one commit, the newer one stays.
  std::int64_t Merge(HistoryFile& other);

  // Returns the series of a run for which its commit has another run with different operators: perhaps two
  // models whose files have the same name.
  std::vector<SeriesKey> FindOperatorConflicts(const std::string& identity);

  std::int64_t CountRuns();
  // Returns the series that match, ordered by the members of their keys. Series without runs are left out.
  std::vector<TrendData> Trends(const HistoryFilter& filter);

 private:
  HistoryFile(const std::filesystem::path& file, Database::Mode mode);
  void CreateTables();
  // Returns the id of the row with these values, which is added if it does not exist.
  template <typename... Values>
  std::int64_t FindOrAddRow(const char* table, const char* columns, const Values&... values);
  // Adds a row and returns its id.
  template <typename... Values>
  std::int64_t AddRow(const char* table, const char* columns, const Values&... values);
  void AddResult(std::int64_t run_id, const HistoryRun& run, const HistoryResult& result);
  std::int64_t FindOrAddSeries(const SeriesKey& key);
  void AddAcceptance(std::int64_t series, const Acceptance& acceptance);
  std::vector<Acceptance> ReadAcceptances(std::int64_t series);
  // Returns the full name of the commit with this prefix. Throws Error (kUsage).
  std::string ExpandCommit(const std::string& prefix);
  void DeleteRun(std::int64_t run);
  std::vector<HistoryRun> Runs();
  std::vector<HistoryResult> ReadResults(std::int64_t run);
  void ReadPoints(std::int64_t series, const HistoryFilter& filter, TrendData& trend);
  void ReadNamedOperators(const HistoryFilter& filter, TrendData& trend);
  void ReadOperators(TrendData& trend);
  // Returns SQL for a column that files of version 1 lack.
  const char* ColumnSinceVersion2(const char* column) const { return version_ < 2 ? "NULL" : column; }

  std::filesystem::path file_;
  Database database_;
  std::int64_t version_ = 0;  // version of the file's schema
};

}  // namespace etprof
