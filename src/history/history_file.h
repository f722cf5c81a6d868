#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "history/database.h"
#include "history/history.h"

namespace etprof {

inline constexpr const char* kHistoryFile = "etprof-history.sqlite";

// Which series, and how much of each. Texts are parts of names, whatever their case; "": all.
struct HistoryFilter {
  std::string model = {}, device = {}, experiment = {};
  std::string operator_name = {};  // its self time instead of the latency
  bool operators = false;          // the self times of each one, too
  std::size_t last = 200;          // runs of a series; 0: all
};

// Of one operator, or of several together, in one run.
struct SelfTime {
  std::optional<double> mean;          // ns of an inference; absent: it did not run
  std::vector<Nanoseconds> by_launch;  // as HistoryOperator::by_launch
};

// One run of a series.
struct TrendPoint {
  std::int64_t result = 0;  // its row, which orders what else is alike
  std::string commit;
  UnixTime time = 0, measured_at = 0;
  std::string model_sha256, runner_sha256, executorch_version;
  std::string reference;                                        // the experiment's name; "": none
  std::string reference_model_sha256, reference_runner_sha256;  // of this run; "": not known
  MachineIdentity machine;
  HistoryConditions conditions;
  std::vector<HistoryLaunch> launches;
  // HistoryLaunch::traced of the reference in the same launches, 0: none; empty: there is no reference.
  std::vector<Nanoseconds> reference_traced;
  std::optional<double> reference_mean;  // of its inference over its common set, ns, as SelfTime::mean
  SelfTime self;                         // of the operators asked for by name
  std::uint64_t operators_digest = 0;    // of all operators; equal ones have the same. 0: not read
};

// An operator of a series, with its self time in each run.
struct OperatorTimes {
  std::string key, name;
  double share = 0;             // of all self time, the mean over the runs
  std::vector<SelfTime> times;  // by TrendData::points
};
// Smaller ones are left out.
inline constexpr double kLeastShareOfOperator = 0.01;

// A series' changes that begin with this commit or before are known, and fail nothing.
struct Acceptance {
  std::string commit, reason;
  UnixTime at = 0;  // when it was accepted
};

struct TrendData {
  SeriesKey key;
  std::vector<TrendPoint> points;        // by time of the commit, then by time of the measurement
  std::size_t earlier = 0;               // runs before them that were left out
  std::vector<OperatorTimes> operators;  // where HistoryFilter::operators asks for them
  std::vector<Acceptance> accepted;      // by time
};

// The history of a project in one SQLite file (docs/guides/history.md). Any number of processes may read and
// write it at once. What is written is there as a whole, or, after a kill or on a full disk, not at all.
class HistoryFile {
 public:
  // Throws as OpenToAdd would, as far as that is known without adding, and where any part of it is damaged.
  static void RequireAddable(const std::filesystem::path& file);
  // Opens it, and creates one that does not exist. Throws Error (kBadInput) for a file that is no history of
  // etprof's or one of a newer version, and leaves it as it is.
  static HistoryFile OpenToAdd(const std::filesystem::path& file);
  // Throws likewise, and where there is none.
  static HistoryFile OpenToRead(const std::filesystem::path& file);

  enum class Added { kNew, kAlreadyThere, kReplaced };
  // A run that was added with another commit: an Error (kUsage), or it stays that one's.
  enum class OfOther { kRefused, kStays };
  // One that was resumed since it was added replaces what it was.
  Added Add(HistoryRun run, OfOther of_other = OfOther::kRefused);

  // Accepts the changes up to a commit, of which the start of the name is enough, of the series that the
  // filter takes and that have it: those series. Throws Error (kUsage) for a commit that none has, or a start
  // of several.
  std::vector<SeriesKey> Accept(const HistoryFilter& filter, const std::string& commit,
                                const std::string& reason, UnixTime at);
  // Deletes the runs of a commit, named likewise: how many.
  std::int64_t Delete(const std::string& commit);
  // Adds the runs and acceptances of another history: how many runs are new here.
  std::int64_t Merge(HistoryFile& other);

  // Series of a run, by its identity, of which its commit has a run with other operators, too: perhaps two
  // models whose files have the same name.
  std::vector<SeriesKey> OfOtherOperators(const std::string& identity);

  std::int64_t CountRuns();
  // By the names of their keys. Series without a run are not there.
  std::vector<TrendData> Trends(const HistoryFilter& filter);

 private:
  HistoryFile(const std::filesystem::path& file, Database::Mode mode);
  void CreateTables();
  // The row of these values, which is added where there is none.
  std::int64_t IdOf(const char* table, const char* columns, const std::vector<std::string>& values);
  void AddResult(std::int64_t run_id, const HistoryRun& run, const HistoryResult& result);
  std::int64_t IdOfSeries(const SeriesKey& key);
  void AddAcceptance(std::int64_t series, const Acceptance& acceptance);
  std::vector<Acceptance> AcceptancesOf(std::int64_t series);
  // In full, by its start. Throws Error (kUsage).
  std::string CommitNamed(const std::string& start);
  void DeleteRun(std::int64_t run);
  std::vector<HistoryRun> Runs();
  void ReadResults(std::int64_t run_id, HistoryRun& run);
  void ReadPoints(std::int64_t series, const HistoryFilter& filter, TrendData& trend);
  void ReadNamedOperators(const HistoryFilter& filter, TrendData& trend);
  void ReadOperators(TrendData& trend);
  // A column that files of version 1 have not.
  const char* SinceVersion2(const char* column) const { return version_ < 2 ? "NULL" : column; }

  std::filesystem::path file_;
  Database database_;
  std::int64_t version_ = 0;  // of the file
};

}  // namespace etprof
