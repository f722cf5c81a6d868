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
  std::string operator_name = {};  // its self time in place of the latency
  std::size_t last = 200;          // runs of a series; 0: all
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
  // Mean self time of the operators asked for, ns; absent: none was asked for, or they did not run.
  std::optional<double> operator_self;
};

struct TrendData {
  SeriesKey key;
  std::vector<TrendPoint> points;  // by time of the commit, then by time of the measurement
  std::size_t earlier = 0;         // runs before them that were left out
};

// The history of a project in one SQLite file (docs/guides/history.md). Any number of processes may read and
// write it at once. What is written is there as a whole, or, after a kill or on a full disk, not at all.
class HistoryFile {
 public:
  // Opens it, and creates one that does not exist. Throws Error (kBadInput) for a file that is no history of
  // etprof's or one of a newer version, and leaves it as it is.
  static HistoryFile OpenToAdd(const std::filesystem::path& file);
  // Throws likewise, and where there is none.
  static HistoryFile OpenToRead(const std::filesystem::path& file);

  enum class Added { kNew, kAlreadyThere, kReplaced };
  // One that was resumed since it was added replaces what it was. Throws Error (kUsage) where the run was
  // added with another commit.
  Added Add(const HistoryRun& run);

  std::int64_t CountRuns();
  // By the names of their keys. Series without a run are not there.
  std::vector<TrendData> Trends(const HistoryFilter& filter);

 private:
  HistoryFile(const std::filesystem::path& file, Database::Mode mode);
  void CreateTables();
  std::int64_t IdOf(const char* select, const char* insert, const std::vector<std::string>& values);
  std::int64_t AddMachine(const MachineIdentity& machine);
  void AddResult(std::int64_t run_id, const HistoryRun& run, const HistoryResult& result);
  void ReadPoints(std::int64_t series, const HistoryFilter& filter, TrendData& trend);
  void ReadOperators(const HistoryFilter& filter, TrendData& trend);

  std::filesystem::path file_;
  Database database_;
};

}  // namespace etprof
