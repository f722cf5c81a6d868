#include "history/history_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/units.h"

namespace etprof {
namespace {

// "ETPH" in the file's header identifies a history.
constexpr std::uint32_t kApplicationId = 0x45545048;
constexpr std::uint32_t kVersion = 3;

// Times are integers in nanoseconds. The indices find results by series and time, and launches and operators
// by their result.
constexpr const char* kSchema = R"sql(
CREATE TABLE machine(
  id INTEGER PRIMARY KEY, platform TEXT NOT NULL, cpu_model TEXT NOT NULL, cores INTEGER NOT NULL,
  os TEXT NOT NULL, kernel TEXT NOT NULL, virtualization TEXT NOT NULL, power_mode TEXT NOT NULL,
  governors TEXT NOT NULL,
  UNIQUE(platform, cpu_model, cores, os, kernel, virtualization, power_mode, governors));
CREATE TABLE artifact(
  id INTEGER PRIMARY KEY, model_sha256 TEXT NOT NULL, runner_sha256 TEXT NOT NULL,
  executorch_version TEXT NOT NULL, UNIQUE(model_sha256, runner_sha256, executorch_version));
CREATE TABLE series(
  id INTEGER PRIMARY KEY, model TEXT NOT NULL, method TEXT NOT NULL, experiment TEXT NOT NULL,
  threads INTEGER NOT NULL, settings TEXT NOT NULL, device TEXT NOT NULL,
  UNIQUE(model, method, experiment, threads, settings, device));
CREATE TABLE run(
  id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, commit_name TEXT NOT NULL, time INTEGER NOT NULL,
  measured_at INTEGER NOT NULL, etprof_version TEXT NOT NULL, reference TEXT NOT NULL,
  machine INTEGER NOT NULL REFERENCES machine(id), launches INTEGER NOT NULL,
  rounds INTEGER NOT NULL, hot_rounds INTEGER NOT NULL, capped_rounds INTEGER NOT NULL,
  repeated_bursts INTEGER NOT NULL, celsius REAL, load REAL, frequency_khz INTEGER);
CREATE TABLE result(
  id INTEGER PRIMARY KEY, series INTEGER NOT NULL REFERENCES series(id),
  run INTEGER NOT NULL REFERENCES run(id), time INTEGER NOT NULL, measured_at INTEGER NOT NULL,
  artifact INTEGER NOT NULL REFERENCES artifact(id), operator_runs INTEGER NOT NULL);
CREATE INDEX result_of_series ON result(series, time, measured_at);
CREATE INDEX result_of_run ON result(run);
CREATE TABLE launch(
  result INTEGER NOT NULL REFERENCES result(id), launch INTEGER NOT NULL, latency_ns INTEGER,
  clean_runs INTEGER NOT NULL, runs INTEGER NOT NULL, log_relative REAL,
  PRIMARY KEY(result, launch)) WITHOUT ROWID;
CREATE TABLE operator(
  id INTEGER PRIMARY KEY, key TEXT NOT NULL, name TEXT NOT NULL, UNIQUE(key, name));
CREATE TABLE operator_time(
  result INTEGER NOT NULL REFERENCES result(id), operator INTEGER NOT NULL REFERENCES operator(id),
  self_ns INTEGER NOT NULL, PRIMARY KEY(result, operator)) WITHOUT ROWID;
)sql";
// Additions of version 2. `by_launch` is a JSON array of integers in the order of the launches.
constexpr const char* kSchemaAdditions2 = R"sql(
ALTER TABLE launch ADD COLUMN traced_ns INTEGER;
ALTER TABLE operator_time ADD COLUMN by_launch TEXT;
)sql";
constexpr const char* kSchemaAdditions3 = R"sql(
CREATE TABLE acceptance(
  series INTEGER NOT NULL REFERENCES series(id), commit_name TEXT NOT NULL, reason TEXT NOT NULL,
  at INTEGER NOT NULL, PRIMARY KEY(series, commit_name)) WITHOUT ROWID;
)sql";
constexpr std::array kSchemas = {kSchema, kSchemaAdditions2, kSchemaAdditions3};  // additions of each version
static_assert(kSchemas.size() == kVersion);

// Statements are prepared only for tables that etprof created: a foreign view or trigger may run forever.
void RequireSchema(Database& database, std::int64_t version) {
  Database expected;
  for (std::size_t i = 0; i < kSchemas.size() && std::cmp_less(i, version); ++i)
    expected.Execute(kSchemas[i]);
  database.RequireSameSchema(expected);
}

// Checks the header without SQLite, which might repair a foreign file. Returns whether the file has any
// content (https://www.sqlite.org/fileformat2.html#the_database_header).
bool RequireHistory(const std::filesystem::path& file) {
  std::array<char, 100> header{};
  std::ifstream in(file, std::ios::binary);
  in.read(header.data(), header.size());
  const auto size = in.gcount();
  if (size == 0 && in.eof()) return false;
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  const ByteView bytes = std::as_bytes(std::span(header));
  const bool is_sqlite = size == 100 && std::string_view(header.data(), kMagic.size()) == kMagic;
  if (!is_sqlite || BigEndianAt(bytes, 68) != kApplicationId) {
    throw Error(ExitCode::kBadInput, "is not a history that etprof wrote")
        .InFile(file.string())
        .Remedy("name another file; `etprof history add` creates one that does not exist");
  }
  if (const std::uint32_t version = BigEndianAt(bytes, 60); version < 1 || version > kVersion) {
    throw Error(ExitCode::kBadInput,
                fmt::format("is a history of version {}; this etprof knows 1 to {}", version, kVersion))
        .InFile(file.string())
        .Remedy("use the etprof that wrote it");
  }
  return true;
}

void RequireRegular(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error)) return;
  throw Error(ExitCode::kBadInput,
              std::filesystem::exists(file, error) ? "is not a regular file" : "no such file")
      .InFile(file.string())
      .Remedy("give the history with `--history FILE`; `etprof history add` creates one");
}

// Returns whether the file has any content. Throws if the file is not a history, or if it cannot be created.
bool HasHistory(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(file, error).parent_path();
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ExitCode::kBadInput, "cannot be created: no such folder")
        .InFile(file.string())
        .Remedy("name a file in a folder that exists");
  }
  bool has_content = false;
  if (std::filesystem::exists(file, error)) {
    RequireRegular(file);
    has_content = RequireHistory(file);
  }
  if (!has_content && std::filesystem::is_symlink(file, error)) {
    throw Error(ExitCode::kBadInput, "is a link that leads to no history")
        .InFile(file.string())
        .Remedy("remove the link, or name another file");
  }
  if (::access(folder.c_str(), W_OK) != 0) {  // SQLite creates its journal there
    throw Error(ExitCode::kDeviceFailed, has_content ? "cannot be written: its folder is read-only"
                                                     : "cannot be created: its folder is read-only")
        .InFile(file.string())
        .Remedy("make the folder writable, or name another file with `--history FILE`");
  }
  return has_content;
}

// Parses "[1,22,0]". Empty for any other text.
std::vector<Nanoseconds> ParseNanoseconds(std::string_view text) {
  std::vector<Nanoseconds> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end && (*at == '[' || *at == ',')) {
    Nanoseconds number = 0;
    const auto [next, error] = std::from_chars(at + 1, end, number);
    if (error != std::errc()) return {};
    numbers.push_back(number);
    at = next;
  }
  return at != end && *at == ']' ? numbers : std::vector<Nanoseconds>();
}

// The columns in the order of the members of RunProperties, MachineIdentity, Artifact, and SeriesKey.
constexpr const char* kRunColumns =
    "commit_name, run.time, run.measured_at, reference, rounds, hot_rounds, capped_rounds, repeated_bursts, "
    "celsius, load, frequency_khz";
constexpr const char* kMachineColumns =
    "platform, cpu_model, os, kernel, virtualization, power_mode, governors, cores";
constexpr const char* kArtifactColumns = "model_sha256, runner_sha256, executorch_version";
constexpr const char* kSeriesColumns = "model, method, experiment, threads, settings, device";

// Parameters: model, device, and experiment of a HistoryFilter.
constexpr const char* kSeriesFilter =
    "instr(lower(model), lower(?1)) > 0 AND instr(lower(device), lower(?2)) > 0 AND "
    "instr(lower(experiment), lower(?3)) > 0";

// Reads the first columns of a row, kRunColumns and kMachineColumns.
RunProperties ReadRunProperties(const Statement& row) {
  return {row.Text(0),
          row.Integer(1),
          row.Integer(2),
          row.Text(3),
          {row.Integer(4), row.Integer(5), row.Integer(6), row.Integer(7), row.MaybeReal(8), row.MaybeReal(9),
           row.MaybeInteger(10)},
          {row.Text(11), row.Text(12), row.Text(13), row.Text(14), row.Text(15), row.Text(16), row.Text(17),
           static_cast<int>(row.Integer(18))}};
}
constexpr int kNumRunColumns = 19;  // number of these columns

// Reads kArtifactColumns, which begin at column `first`.
Artifact ReadArtifact(const Statement& row, int first) {
  return {row.Text(first), row.Text(first + 1), row.Text(first + 2)};
}

// Query for ReadLaunches; {} stands for ColumnSinceVersion2("traced_ns").
constexpr const char* kSelectLaunches =
    "SELECT launch, latency_ns, clean_runs, runs, log_relative, {} FROM launch WHERE result = ?1 ORDER BY "
    "launch";

// Reads the launches of a result. `launches`: a statement of kSelectLaunches.
std::vector<HistoryLaunch> ReadLaunches(Statement& launches, std::int64_t result) {
  // The limit is more than any measurement has, and prevents overflow in sums of values from a damaged file.
  const auto runs_in = [&](int column) {
    return std::clamp<std::int64_t>(launches.Integer(column), 0, 1'000'000'000'000);
  };
  return launches.Bind(result).ReadRows([&] {
    return HistoryLaunch{static_cast<int>(launches.Integer(0)),
                         launches.MaybeInteger(1),
                         runs_in(2),
                         runs_in(3),
                         launches.MaybeReal(4),
                         launches.MaybeInteger(5)};
  });
}

// "?1, ?2, ?3" for three columns, which are separated by commas.
std::string Placeholders(std::string_view columns) {
  std::string list = "?1";
  for (std::ptrdiff_t i = 0; i < std::ranges::count(columns, ','); ++i) list += fmt::format(", ?{}", i + 2);
  return list;
}

std::string InsertSql(const char* table, const char* columns) {
  return fmt::format("INSERT INTO {}({}) VALUES({})", table, columns, Placeholders(columns));
}

// Reads kSeriesColumns, which begin at column `first`.
SeriesKey ReadSeriesKey(const Statement& row, int first) {
  return {row.Text(first),     row.Text(first + 1),
          row.Text(first + 2), static_cast<int>(row.Integer(first + 3)),
          row.Text(first + 4), row.Text(first + 5)};
}

}  // namespace

HistoryFile::HistoryFile(const std::filesystem::path& file, Database::Mode mode)
    : file_(file), database_(file, mode) {
  if (mode == Database::Mode::kCreate) CreateTables();
  version_ = database_.QueryInteger("PRAGMA user_version");
  RequireSchema(database_, version_);
  if (mode == Database::Mode::kRead) database_.RequireUndamaged();
}

void HistoryFile::CreateTables() {
  // Committed data survives a power loss.
  database_.Execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;");
  Transaction transaction(database_);
  // Another process may have just created the tables.
  std::int64_t version = 0;
  if (database_.QueryInteger("SELECT count(*) FROM sqlite_schema") > 0) {
    version = database_.QueryInteger("PRAGMA user_version");
    RequireSchema(database_, version);
  }
  if (version == kVersion) return;
  for (auto i = static_cast<std::size_t>(version); i < kSchemas.size(); ++i) database_.Execute(kSchemas[i]);
  database_.Execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, kVersion).c_str());
  transaction.Commit();
}

void HistoryFile::RequireAddable(const std::filesystem::path& file) {
  if (!HasHistory(file)) return;
  Database database(file, Database::Mode::kWrite);
  RequireSchema(database, database.QueryInteger("PRAGMA user_version"));
  database.RequireUndamaged();
}

HistoryFile HistoryFile::OpenToAdd(const std::filesystem::path& file) {
  HasHistory(file);
  return {file, Database::Mode::kCreate};
}

HistoryFile HistoryFile::OpenToRead(const std::filesystem::path& file) {
  RequireRegular(file);
  if (!RequireHistory(file)) {
    throw Error(ExitCode::kBadInput, "is empty: nothing was added")
        .InFile(file.string())
        .Remedy("add one with `etprof history add`");
  }
  return {file, Database::Mode::kRead};
}

template <typename... Values>
std::int64_t HistoryFile::FindOrAddRow(const char* table, const char* columns, const Values&... values) {
  Statement find(database_,
                 fmt::format("SELECT id FROM {} WHERE ({}) = ({})", table, columns, Placeholders(columns)));
  return find.Bind(values...).Step() ? find.Integer(0) : AddRow(table, columns, values...);
}

template <typename... Values>
std::int64_t HistoryFile::AddRow(const char* table, const char* columns, const Values&... values) {
  Statement(database_, InsertSql(table, columns)).Bind(values...).Run();
  return database_.LastRowId();
}

std::int64_t HistoryFile::FindOrAddSeries(const SeriesKey& key) {
  return FindOrAddRow("series", kSeriesColumns, key.model, key.method, key.experiment, key.threads,
                      key.settings, key.device);
}

void HistoryFile::AddResult(std::int64_t run_id, const HistoryRun& run, const HistoryResult& result) {
  const std::int64_t artifact = FindOrAddRow("artifact", kArtifactColumns, result.model_sha256,
                                             result.runner_sha256, result.executorch_version);
  const std::int64_t id = AddRow("result", "series, run, time, measured_at, artifact, operator_runs",
                                 FindOrAddSeries(result.series), run_id, run.time, run.measured_at, artifact,
                                 result.operator_runs);
  Statement add_launch(database_, InsertSql("launch",
                                            "result, launch, latency_ns, clean_runs, runs, "
                                            "log_relative, traced_ns"));
  for (const HistoryLaunch& launch : result.launches) {
    add_launch
        .Bind(id, launch.index, launch.latency, launch.clean_runs, launch.runs, launch.log_relative,
              launch.traced)
        .Run();
  }
  Statement add_time(database_, InsertSql("operator_time", "result, operator, self_ns, by_launch"));
  for (const HistoryOperator& op : result.operators) {
    const auto by_launch = op.by_launch.empty()
                               ? std::nullopt
                               : std::optional(fmt::format("[{}]", fmt::join(op.by_launch, ",")));
    add_time.Bind(id, FindOrAddRow("operator", "key, name", op.key, op.name), op.total_self, by_launch).Run();
  }
}

HistoryFile::AddOutcome HistoryFile::Add(HistoryRun run, CommitConflict on_conflict) {
  Transaction transaction(database_);
  const auto launches = static_cast<std::int64_t>(run.Launches());
  AddOutcome added = AddOutcome::kNew;
  {
    Statement find(database_, "SELECT id, commit_name, launches, time FROM run WHERE identity = ?1");
    if (find.Bind(run.identity).Step()) {
      if (find.Text(1) != run.commit && on_conflict == CommitConflict::kRefused) {
        throw Error(ExitCode::kUsage,
                    fmt::format("has this measurement already, as one of commit {}", find.Text(1)))
            .InFile(file_.string())
            .Remedy("add it with that commit, or measure again");
      }
      run.commit = find.Text(1);
      run.time = find.Integer(3);
      if (find.Integer(2) >= launches) return AddOutcome::kAlreadyThere;
      added = AddOutcome::kReplaced;
      DeleteRun(find.Integer(0));
    }
  }
  const HistoryConditions& conditions = run.conditions;
  const MachineIdentity& identity = run.machine;
  const std::int64_t machine = FindOrAddRow("machine", kMachineColumns, identity.platform, identity.cpu_model,
                                            identity.os, identity.kernel, identity.virtualization,
                                            identity.power_mode, identity.governors, identity.cores);
  const std::int64_t id = AddRow(
      "run",
      "identity, commit_name, time, measured_at, etprof_version, reference, machine, launches, rounds, "
      "hot_rounds, capped_rounds, repeated_bursts, celsius, load, frequency_khz",
      run.identity, run.commit, run.time, run.measured_at, run.etprof_version, run.reference, machine,
      launches, conditions.rounds, conditions.hot_rounds, conditions.capped_rounds,
      conditions.repeated_bursts, conditions.celsius, conditions.load, conditions.frequency_khz);
  for (const HistoryResult& result : run.results) AddResult(id, run, result);
  transaction.Commit();
  return added;
}

void HistoryFile::DeleteRun(std::int64_t run) {
  for (const char* const sql :
       {"DELETE FROM operator_time WHERE result IN (SELECT id FROM result WHERE run = ?1)",
        "DELETE FROM launch WHERE result IN (SELECT id FROM result WHERE run = ?1)",
        "DELETE FROM result WHERE run = ?1", "DELETE FROM run WHERE id = ?1"}) {
    Statement(database_, sql).Bind(run).Run();
  }
}

std::string HistoryFile::ExpandCommit(const std::string& prefix) {
  Statement find(database_,
                 "SELECT DISTINCT commit_name FROM run WHERE instr(commit_name, ?1) = 1 ORDER BY 1");
  const std::vector<std::string> found = find.Bind(prefix).ReadRows([&] { return find.Text(0); });
  if (std::ranges::find(found, prefix) != found.end()) return prefix;
  if (found.size() == 1 && !prefix.empty()) return found.front();
  throw Error(ExitCode::kUsage,
              found.empty() ? fmt::format("has no measurement of commit `{}`", prefix)
                            : fmt::format("has {} commits that begin with `{}`", found.size(), prefix))
      .InFile(file_.string())
      .Remedy("name a commit that `etprof history` shows");
}

void HistoryFile::AddAcceptance(std::int64_t series, const Acceptance& acceptance) {
  Statement add(database_,
                "INSERT OR REPLACE INTO acceptance(series, commit_name, reason, at) VALUES(?1, ?2, ?3, ?4)");
  add.Bind(series, acceptance.commit, acceptance.reason, acceptance.time).Run();
}

std::vector<Acceptance> HistoryFile::ReadAcceptances(std::int64_t series) {
  if (version_ < 3) return {};
  Statement find(database_,
                 "SELECT commit_name, reason, at FROM acceptance WHERE series = ?1 ORDER BY at, commit_name");
  return find.Bind(series).ReadRows([&] { return Acceptance{find.Text(0), find.Text(1), find.Integer(2)}; });
}

std::vector<SeriesKey> HistoryFile::Accept(const HistoryFilter& filter, const std::string& commit,
                                           const std::string& reason, UnixTime at) {
  Transaction transaction(database_);
  const std::string name = ExpandCommit(commit);
  std::vector<SeriesKey> accepted;
  Statement find(database_,
                 fmt::format("SELECT id, {} FROM series WHERE {} AND EXISTS(SELECT 1 FROM result JOIN run ON "
                             "run.id = result.run WHERE series = series.id AND commit_name = ?4) "
                             "ORDER BY 2, 3, 4, 5, 6, 7",
                             kSeriesColumns, kSeriesFilter));
  find.Bind(filter.model, filter.device, filter.experiment, name);
  while (find.Step()) {
    AddAcceptance(find.Integer(0), {name, reason, at});
    accepted.push_back(ReadSeriesKey(find, 1));
  }
  if (accepted.empty()) {
    throw Error(ExitCode::kUsage, fmt::format("no series that matches the filters has commit `{}`", name))
        .InFile(file_.string())
        .Remedy("leave out a filter");
  }
  transaction.Commit();
  return accepted;
}

std::int64_t HistoryFile::Delete(const std::string& commit) {
  Transaction transaction(database_);
  const std::string name = ExpandCommit(commit);
  Statement find(database_, "SELECT id FROM run WHERE commit_name = ?1");
  const std::vector<std::int64_t> runs = find.Bind(name).ReadRows([&] { return find.Integer(0); });
  for (const std::int64_t run : runs) DeleteRun(run);
  transaction.Commit();
  return static_cast<std::int64_t>(runs.size());
}

std::int64_t HistoryFile::Merge(HistoryFile& other) {
  const std::int64_t before = CountRuns();
  for (HistoryRun& run : other.Runs()) Add(std::move(run), CommitConflict::kKeepCommit);
  Transaction transaction(database_);
  Statement series(other.database_, fmt::format("SELECT id, {} FROM series", kSeriesColumns));
  while (series.Step()) {
    for (const Acceptance& acceptance : other.ReadAcceptances(series.Integer(0))) {
      const std::int64_t id = FindOrAddSeries(ReadSeriesKey(series, 1));
      const auto is_newer = [&](const Acceptance& present) {
        return present.commit == acceptance.commit && present.time > acceptance.time;
      };
      if (std::ranges::none_of(ReadAcceptances(id), is_newer)) AddAcceptance(id, acceptance);
    }
  }
  transaction.Commit();
  return CountRuns() - before;
}

std::vector<HistoryRun> HistoryFile::Runs() {
  Statement find(
      database_,
      fmt::format("SELECT {}, {}, identity, etprof_version, run.id FROM run JOIN machine ON machine.id = "
                  "run.machine ORDER BY run.id",
                  kRunColumns, kMachineColumns));
  return find.ReadRows([&] {
    return HistoryRun{ReadRunProperties(find), find.Text(kNumRunColumns), find.Text(kNumRunColumns + 1),
                      ReadResults(find.Integer(kNumRunColumns + 2))};
  });
}

std::vector<HistoryResult> HistoryFile::ReadResults(std::int64_t run) {
  Statement find(database_,
                 fmt::format("SELECT result.id, operator_runs, {}, {} FROM result JOIN series ON series.id = "
                             "result.series JOIN artifact ON artifact.id = result.artifact WHERE run = ?1 "
                             "ORDER BY result.id",
                             kArtifactColumns, kSeriesColumns));
  Statement launches(database_, fmt::format(kSelectLaunches, ColumnSinceVersion2("traced_ns")));
  Statement operators(database_,
                      fmt::format("SELECT key, name, self_ns, {} FROM operator_time JOIN operator ON "
                                  "operator.id = operator WHERE result = ?1 ORDER BY operator",
                                  ColumnSinceVersion2("by_launch")));
  const auto read_operator = [&] {
    return HistoryOperator{operators.Text(0), operators.Text(1), operators.Integer(2),
                           ParseNanoseconds(operators.Text(3))};
  };
  return find.Bind(run).ReadRows([&] {
    const std::int64_t id = find.Integer(0);
    return HistoryResult{ReadArtifact(find, 2), ReadSeriesKey(find, 5), ReadLaunches(launches, id),
                         find.Integer(1), operators.Bind(id).ReadRows(read_operator)};
  });
}

std::vector<SeriesKey> HistoryFile::FindOperatorConflicts(const std::string& identity) {
  constexpr const char* kOperators = "SELECT operator FROM operator_time WHERE result";
  Statement find(
      database_,
      fmt::format(
          "SELECT DISTINCT {1} FROM run "
          "JOIN result ON result.run = run.id JOIN series ON series.id = result.series "
          "JOIN result other ON other.series = series.id JOIN run other_run ON other_run.id = other.run "
          "WHERE run.identity = ?1 AND other.id <> result.id AND other_run.commit_name = run.commit_name "
          "AND EXISTS({0} = result.id) AND EXISTS({0} = other.id) AND "
          "(EXISTS({0} = result.id EXCEPT {0} = other.id) OR EXISTS({0} = other.id EXCEPT {0} = "
          "result.id)) ORDER BY 1, 2, 3, 4, 5, 6",
          kOperators, kSeriesColumns));
  return find.Bind(identity).ReadRows([&] { return ReadSeriesKey(find, 0); });
}

namespace {

// The hardware distinguishes machines with the same name; "": not known. Another kernel, governor, or power
// mode does not make another machine.
std::string HardwareName(const MachineIdentity& machine) {
  std::string text = machine.cpu_model;
  if (machine.cores > 0) text += (text.empty() ? "" : ", ") + CountedText(machine.cores, "core");
  return text;
}

// Returns a series that has only these points and another device name.
TrendData SelectPoints(const TrendData& all, const std::vector<std::size_t>& indices,
                       const std::string& device) {
  TrendData part;
  part.key = all.key;
  part.key.device = device;
  part.earlier = all.earlier;
  part.accepted = all.accepted;
  for (const std::size_t i : indices) part.points.push_back(all.points[i]);
  for (const OperatorTimes& op : all.operators) {
    OperatorTimes& times = part.operators.emplace_back(OperatorTimes{op.key, op.name, op.share, {}});
    for (const std::size_t i : indices) times.times.push_back(op.times[i]);
  }
  return part;
}

// Splits each series by machine. If several machines have the same name, as every "local" of a CI, the
// hardware is appended to the name.
std::vector<TrendData> SplitByMachine(std::vector<TrendData> trends) {
  std::map<std::string, std::set<std::string>> known;  // hardware by device name
  for (const TrendData& trend : trends) {
    for (const TrendPoint& point : trend.points) known[trend.key.device].insert(HardwareName(point.machine));
  }
  for (auto& [device, hardware] : known) hardware.erase("");
  std::vector<TrendData> found;
  for (TrendData& trend : trends) {
    if (known[trend.key.device].size() <= 1) {
      found.push_back(std::move(trend));
      continue;
    }
    std::map<std::string, std::vector<std::size_t>> machines;
    for (std::size_t i = 0; i < trend.points.size(); ++i)
      machines[HardwareName(trend.points[i].machine)].push_back(i);
    for (const auto& [hardware, indices] : machines) {
      const std::string name = hardware.empty() ? "unknown machine" : hardware;
      found.push_back(SelectPoints(trend, indices, fmt::format("{} ({})", trend.key.device, name)));
    }
  }
  return found;
}

}  // namespace

std::int64_t HistoryFile::CountRuns() { return database_.QueryInteger("SELECT count(*) FROM run"); }

std::vector<TrendData> HistoryFile::Trends(const HistoryFilter& filter) {
  std::vector<TrendData> trends;
  Statement find(database_, fmt::format("SELECT id, {} FROM series WHERE {} ORDER BY 2, 3, 4, 5, 6, 7",
                                        kSeriesColumns, kSeriesFilter));
  find.Bind(filter.model, filter.device, filter.experiment);
  while (find.Step()) {
    TrendData trend;
    trend.key = ReadSeriesKey(find, 1);
    trend.accepted = ReadAcceptances(find.Integer(0));
    ReadPoints(find.Integer(0), filter, trend);
    if (!filter.operator_name.empty()) ReadNamedOperators(filter, trend);
    if (filter.with_operators) ReadOperators(trend);
    if (!trend.points.empty()) trends.push_back(std::move(trend));
  }
  return SplitByMachine(std::move(trends));
}

void HistoryFile::ReadPoints(std::int64_t series, const HistoryFilter& filter, TrendData& trend) {
  Statement find(database_,
                 fmt::format("SELECT {}, {}, {}, result.id, result.run FROM result "
                             "JOIN run ON run.id = result.run JOIN machine ON machine.id = run.machine "
                             "JOIN artifact ON artifact.id = result.artifact WHERE series = ?1 "
                             "ORDER BY result.time DESC, result.measured_at DESC, result.id DESC LIMIT ?2",
                             kRunColumns, kMachineColumns, kArtifactColumns));
  Statement launches(database_, fmt::format(kSelectLaunches, ColumnSinceVersion2("traced_ns")));
  Statement reference(
      database_,
      fmt::format("SELECT {}, result.id FROM result JOIN series ON series.id = result.series "
                  "JOIN artifact ON artifact.id = result.artifact WHERE run = ?1 AND experiment = ?2",
                  kArtifactColumns));
  Statement all_self(database_,
                     "SELECT total(self_ns) / max(operator_runs) FROM operator_time JOIN result ON "
                     "result.id = result WHERE result = ?1 AND operator_runs > 0");
  find.Bind(series, filter.last == 0 ? -1 : static_cast<std::int64_t>(filter.last));
  while (find.Step()) {
    TrendPoint point{ReadRunProperties(find), ReadArtifact(find, kNumRunColumns),
                     find.Integer(kNumRunColumns + 3)};
    std::optional<std::int64_t> reference_result;
    if (!point.reference.empty()) {
      reference.Bind(find.Integer(kNumRunColumns + 4), point.reference);
      if (reference.Step()) {
        point.reference_artifact = ReadArtifact(reference, 0);
        reference_result = reference.Integer(3);
      }
      reference.Reset();
    }
    point.launches = ReadLaunches(launches, point.result);
    // The reference's times are needed for self times only.
    if (reference_result && (filter.with_operators || !filter.operator_name.empty())) {
      std::map<int, Nanoseconds> traced;  // keyed by launch
      for (const HistoryLaunch& launch : ReadLaunches(launches, *reference_result))
        traced[launch.index] = launch.traced.value_or(0);
      all_self.Bind(*reference_result);
      if (all_self.Step() && all_self.Real(0) > 0) point.reference_mean = all_self.Real(0);
      all_self.Reset();
      for (const HistoryLaunch& launch : point.launches) {
        const auto time = traced.find(launch.index);
        point.reference_traced.push_back(time == traced.end() ? 0 : time->second);
      }
    }
    trend.points.push_back(std::move(point));
  }
  std::ranges::reverse(trend.points);
  Statement count(database_, "SELECT count(*) FROM result WHERE series = ?1");
  count.Bind(series).Step();
  trend.earlier = static_cast<std::size_t>(count.Integer(0)) - trend.points.size();
}

void HistoryFile::ReadNamedOperators(const HistoryFilter& filter, TrendData& trend) {
  Statement find(database_,
                 fmt::format("SELECT self_ns, operator_runs, {} FROM operator_time "
                             "JOIN result ON result.id = result JOIN operator ON operator.id = operator "
                             "WHERE result = ?1 AND (instr(lower(name), lower(?2)) > 0 OR key = ?2)",
                             ColumnSinceVersion2("by_launch")));
  for (TrendPoint& point : trend.points) {
    double sum = 0, runs = 0;
    bool by_launch = true;
    std::vector<Nanoseconds> launches(point.launches.size(), 0);
    find.Bind(point.result, filter.operator_name);
    while (find.Step()) {
      sum += find.Real(0);
      runs = find.Real(1);
      const std::vector<Nanoseconds> operator_times = ParseNanoseconds(find.Text(2));
      by_launch = by_launch && operator_times.size() == launches.size();
      for (std::size_t i = 0; i < launches.size() && by_launch; ++i) launches[i] += operator_times[i];
    }
    find.Reset();
    if (runs <= 0) continue;
    point.self.mean = sum / runs;
    if (by_launch) point.self.by_launch = std::move(launches);
  }
}

void HistoryFile::ReadOperators(TrendData& trend) {
  Statement find(database_, fmt::format("SELECT operator, self_ns, operator_runs, {} FROM operator_time "
                                        "JOIN result ON result.id = result WHERE result = ?1 ORDER BY 1",
                                        ColumnSinceVersion2("by_launch")));
  struct Row {
    std::size_t point = 0;
    double self = 0, runs = 0;
    std::string by_launch;
  };
  std::map<std::int64_t, std::vector<Row>> rows;
  std::map<std::int64_t, double> shares;
  for (std::size_t i = 0; i < trend.points.size(); ++i) {
    double all = 0;
    std::uint64_t digest = 14695981039346656037U;  // FNV-1a
    find.Bind(trend.points[i].result);
    std::vector<std::int64_t> found;
    while (find.Step()) {
      const std::int64_t op = find.Integer(0);
      rows[op].push_back({i, find.Real(1), find.Real(2), find.Text(3)});
      found.push_back(op);
      all += find.Real(1);
      digest = (digest ^ static_cast<std::uint64_t>(op)) * 1099511628211U;
    }
    find.Reset();
    trend.points[i].operators_digest = digest;
    for (const std::int64_t op : found) {
      if (all > 0) shares[op] += rows[op].back().self / all / static_cast<double>(trend.points.size());
    }
  }
  Statement name(database_, "SELECT key, name FROM operator WHERE id = ?1");
  for (const auto& [op, operator_rows] : rows) {
    if (shares[op] < kMinOperatorShare) continue;
    name.Bind(op);
    if (!name.Step()) continue;
    OperatorTimes times{name.Text(0), name.Text(1), shares[op], {}};
    name.Reset();
    times.times.resize(trend.points.size());
    for (const Row& row : operator_rows) {
      if (row.runs <= 0) continue;
      std::vector<Nanoseconds> by_launch = ParseNanoseconds(row.by_launch);
      if (by_launch.size() != trend.points[row.point].launches.size()) by_launch.clear();
      times.times[row.point] = {row.self / row.runs, std::move(by_launch)};
    }
    trend.operators.push_back(std::move(times));
  }
}

}  // namespace etprof
