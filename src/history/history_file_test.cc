#include "history/history_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>

#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

HistoryRun MakeRun(int number, int launches = 3) {
  HistoryRun run;
  run.identity = "run " + std::to_string(number);
  run.commit = "c" + std::to_string(number);
  run.time = 1000 + number;
  run.measured_at = 5000 + number;
  run.machine.cpu_model = "a CPU";
  run.machine.cores = 2;
  run.conditions.celsius = 41.5;
  HistoryResult result;
  result.series = {"net", "forward", "base", 1, "", "local"};
  result.model_sha256 = "ab";
  for (int i = 0; i < launches; ++i) result.launches.push_back({i, 1'000'000 + i, 8, 10, 0.25});
  result.launches.push_back({launches, std::nullopt, 0, 10, std::nullopt});
  result.operator_runs = 4;
  result.operators = {{"forward/0/kernel/0", "mul", 400}, {"forward/1/kernel/0", "add", 13}};
  run.results.push_back(result);
  return run;
}

class HistoryFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "etprof-history-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    file_ = folder_ / "history.sqlite";
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The contents of all regular files in the folder.
  std::map<fs::path, std::string> Contents() const {
    std::map<fs::path, std::string> contents;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.is_regular_file()) contents[entry.path()] = ReadTextFile(entry.path());
    }
    return contents;
  }
  // All ways to open the file throw an Error and leave all files unchanged.
  void ExpectRefused() const {
    const auto before = Contents();
    EXPECT_THROW(HistoryFile::OpenToRead(file_), Error);
    EXPECT_THROW(HistoryFile::OpenToAdd(file_), Error);
    EXPECT_THROW(HistoryFile::RequireAddable(file_), Error);
    EXPECT_EQ(Contents(), before);
  }

  fs::path folder_, file_;
};

using AddOutcome = HistoryFile::AddOutcome;

TEST_F(HistoryFileTest, SplitsMachinesOfTheSameName) {
  {
    HistoryFile file = HistoryFile::OpenToAdd(file_);
    for (int i = 0; i < 6; ++i) {
      HistoryRun run = MakeRun(i);
      if (i % 2 == 1) run.machine.cpu_model = "another CPU";
      if (i == 4) run.machine.kernel = "6.6";  // the same machine
      file.Add(std::move(run));
    }
  }
  HistoryFilter filter;
  filter.with_operators = true;
  const std::vector<TrendData> trends = HistoryFile::OpenToRead(file_).Trends(filter);
  ASSERT_EQ(trends.size(), 2U);
  EXPECT_EQ(trends[0].key.device, "local (a CPU, 2 cores)");
  EXPECT_EQ(trends[1].key.device, "local (another CPU, 2 cores)");
  for (std::size_t machine = 0; machine < 2; ++machine) {
    const TrendData& trend = trends[machine];
    ASSERT_EQ(trend.points.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(trend.points[i].commit, "c" + std::to_string(2 * i + machine));
    for (const OperatorTimes& op : trend.operators) EXPECT_EQ(op.times.size(), 3U);
  }
}

TEST_F(HistoryFileTest, UnknownPropertiesDoNotSplitMachines) {
  {
    HistoryFile file = HistoryFile::OpenToAdd(file_);
    for (int i = 0; i < 4; ++i) {
      HistoryRun run = MakeRun(i);
      if (i == 0) run.machine = {};
      file.Add(std::move(run));
    }
  }
  const std::vector<TrendData> trends = HistoryFile::OpenToRead(file_).Trends({});
  ASSERT_EQ(trends.size(), 1U);
  EXPECT_EQ(trends[0].key.device, "local");
  EXPECT_EQ(trends[0].points.size(), 4U);
}

TEST_F(HistoryFileTest, ReturnsRunsInTheOrderOfCommits) {
  {
    HistoryFile history = HistoryFile::OpenToAdd(file_);
    for (const int number : {2, 1, 3}) EXPECT_EQ(history.Add(MakeRun(number)), AddOutcome::kNew);
  }
  HistoryFile history = HistoryFile::OpenToRead(file_);
  const std::vector<TrendData> trends = history.Trends({});
  ASSERT_EQ(trends.size(), 1U);
  EXPECT_EQ(trends[0].key, MakeRun(1).results[0].series);
  ASSERT_EQ(trends[0].points.size(), 3U);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(trends[0].points[static_cast<std::size_t>(i)].commit, "c" + std::to_string(i + 1));
  const TrendPoint& point = trends[0].points[0];
  EXPECT_EQ(point.machine, MakeRun(1).machine);
  EXPECT_EQ(point.conditions.celsius, 41.5);
  EXPECT_EQ(point.conditions.frequency_khz, std::nullopt);
  ASSERT_EQ(point.launches.size(), 4U);
  EXPECT_EQ(point.launches[1].latency, 1'000'001);
  EXPECT_EQ(point.launches[1].log_relative, 0.25);
  EXPECT_EQ(point.launches[3].latency, std::nullopt);
  EXPECT_EQ(point.launches[3].log_relative, std::nullopt);
}

TEST_F(HistoryFileTest, FiltersAndLimitsRuns) {
  HistoryFile history = HistoryFile::OpenToAdd(file_);
  for (int number = 0; number < 5; ++number) history.Add(MakeRun(number));
  const std::vector<TrendData> last = history.Trends({.model = "NE", .operator_name = "AD", .last = 2});
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].earlier, 3U);
  EXPECT_EQ(last[0].points.front().commit, "c3");
  EXPECT_EQ(last[0].points.front().self.mean, 13 / 4.0);
  EXPECT_TRUE(history.Trends({.model = "other"}).empty());
  EXPECT_TRUE(history.Trends({.device = "pi"}).empty());
}

TEST_F(HistoryFileTest, StoresSelfTimesByLaunchWithTheReference) {
  HistoryFile history = HistoryFile::OpenToAdd(file_);
  HistoryRun run = MakeRun(1);
  run.reference = "fixed";
  run.results[0].operators[0].by_launch = {100, 0, 102, 99};
  run.results.push_back(run.results[0]);
  run.results[1].series.experiment = "fixed";
  run.results[1].launches.erase(run.results[1].launches.begin());
  for (HistoryLaunch& launch : run.results[1].launches) launch.traced = 1000 + launch.index;
  history.Add(run);
  history.Add(MakeRun(2));
  const std::vector<TrendData> trends = history.Trends({.experiment = "base", .with_operators = true});
  const TrendData& base = trends.at(0);
  EXPECT_THAT(base.points[0].reference_traced, testing::ElementsAre(0, 1001, 1002, 1003));
  EXPECT_EQ(base.points[0].reference_mean, 413 / 4.0);
  EXPECT_THAT(base.points[1].reference_traced, testing::IsEmpty());
  EXPECT_EQ(base.points[1].reference_mean, std::nullopt);
  EXPECT_EQ(base.points[0].operators_digest, base.points[1].operators_digest);
  ASSERT_EQ(base.operators.size(), 2U);
  const OperatorTimes& mul = base.operators[0];
  EXPECT_EQ(mul.key, "forward/0/kernel/0");
  EXPECT_NEAR(mul.share, 400 / 413.0, 1e-9);
  EXPECT_EQ(mul.times[0].mean, 100);
  EXPECT_THAT(mul.times[0].by_launch, testing::ElementsAre(100, 0, 102, 99));
  EXPECT_THAT(mul.times[1].by_launch, testing::IsEmpty());
  // Several operators together have times by launch only if each of them has.
  EXPECT_THAT(history.Trends({.operator_name = "mul"})[0].points[0].self.by_launch,
              testing::ElementsAre(100, 0, 102, 99));
  const SelfTime both = history.Trends({.operator_name = "forward"})[0].points[0].self;
  EXPECT_EQ(both.mean, std::nullopt);  // a part of a key does not match
  const SelfTime all = history.Trends({.operator_name = "l"})[0].points[0].self;
  EXPECT_EQ(all.mean, 100);
}

TEST_F(HistoryFileTest, AcceptsOnlySeriesThatHaveTheCommit) {
  {
    HistoryFile history = HistoryFile::OpenToAdd(file_);
    for (const int number : {1, 2, 12}) history.Add(MakeRun(number));
    HistoryRun other = MakeRun(3);
    other.results[0].series.model = "other";
    history.Add(std::move(other));
    EXPECT_THROW(history.Accept({}, "c4", "none has it", 7), Error);
    EXPECT_THROW(history.Accept({}, "c", "several begin so", 7), Error);
    EXPECT_THROW(history.Accept({}, "", "that is all of them", 7), Error);
    EXPECT_THROW(history.Accept({.model = "other"}, "c2", "it has not this one", 7), Error);
    EXPECT_THAT(history.Accept({}, "c2", "first", 7), testing::ElementsAre(MakeRun(1).results[0].series));
    EXPECT_EQ(history.Accept({}, "c2", "known", 8).size(), 1U);
    EXPECT_EQ(history.Accept({.model = "net"}, "c12", "later", 9).size(), 1U);
  }
  const std::vector<TrendData> trends = HistoryFile::OpenToRead(file_).Trends({});
  ASSERT_EQ(trends.size(), 2U);
  ASSERT_EQ(trends[0].accepted.size(), 2U);
  EXPECT_EQ(trends[0].accepted[0].commit, "c2");
  EXPECT_EQ(trends[0].accepted[0].reason, "known");
  EXPECT_EQ(trends[0].accepted[0].time, 8);
  EXPECT_EQ(trends[0].accepted[1].reason, "later");
  EXPECT_TRUE(trends[1].accepted.empty());
}

TEST_F(HistoryFileTest, DeletesTheRunsOfACommit) {
  HistoryFile history = HistoryFile::OpenToAdd(file_);
  for (const int number : {1, 2, 12}) history.Add(MakeRun(number));
  EXPECT_THROW(history.Delete("c3"), Error);
  EXPECT_EQ(history.Delete("c1"), 1);  // not c12
  EXPECT_EQ(history.CountRuns(), 2);
  EXPECT_EQ(history.Trends({}).at(0).points.front().commit, "c2");
  EXPECT_EQ(history.Add(MakeRun(1)), AddOutcome::kNew);
}

TEST_F(HistoryFileTest, MergesNewRuns) {
  const fs::path other = folder_ / "other.sqlite";
  {
    HistoryFile history = HistoryFile::OpenToAdd(other);
    for (const int number : {2, 3}) {
      HistoryRun run = MakeRun(number);
      run.results[0].operators[0].by_launch = {100, 0, 102, 99};
      history.Add(std::move(run));
    }
    history.Accept({}, "c3", "known there", 7);
  }
  {
    HistoryFile history = HistoryFile::OpenToAdd(file_);
    for (const int number : {1, 2}) history.Add(MakeRun(number));
    HistoryFile from = HistoryFile::OpenToRead(other);
    EXPECT_EQ(history.Merge(from), 1);
    EXPECT_EQ(history.Trends({}).at(0).accepted.at(0).reason, "known there");
    history.Accept({}, "c3", "known here", 8);
    EXPECT_EQ(history.Merge(from), 0);
  }
  const HistoryFilter filter{.with_operators = true};
  HistoryFile merged = HistoryFile::OpenToRead(file_);
  EXPECT_EQ(merged.CountRuns(), 3);
  const TrendData trend = merged.Trends(filter).at(0);
  const TrendData source = HistoryFile::OpenToRead(other).Trends(filter).at(0);
  const TrendPoint &merged_point = trend.points.at(2), &source_point = source.points.at(1);
  EXPECT_EQ(merged_point.commit, "c3");
  EXPECT_EQ(merged_point.machine, source_point.machine);
  EXPECT_EQ(merged_point.conditions.celsius, source_point.conditions.celsius);
  EXPECT_EQ(merged_point.model_sha256, source_point.model_sha256);
  EXPECT_EQ(merged_point.operators_digest, source_point.operators_digest);
  ASSERT_EQ(merged_point.launches.size(), source_point.launches.size());
  for (std::size_t i = 0; i < merged_point.launches.size(); ++i)
    EXPECT_EQ(merged_point.launches[i].latency, source_point.launches[i].latency);
  EXPECT_EQ(trend.operators.at(0).times.at(2).by_launch, source.operators.at(0).times.at(1).by_launch);
  ASSERT_EQ(trend.accepted.size(), 1U);
  EXPECT_EQ(trend.accepted[0].reason, "known here");
}

TEST_F(HistoryFileTest, ReadsAFileOfVersion1AndAddsToIt) {
  HistoryFile::OpenToAdd(file_).Add(MakeRun(1));
  {
    Database database(file_, Database::Mode::kWrite);
    database.Execute(
        "ALTER TABLE launch DROP COLUMN traced_ns; ALTER TABLE operator_time DROP COLUMN by_launch; "
        "DROP TABLE acceptance; PRAGMA user_version = 1;");
  }
  const std::string before = ReadTextFile(file_);
  EXPECT_EQ(HistoryFile::OpenToRead(file_).Trends({.with_operators = true})[0].operators.size(), 2U);
  EXPECT_EQ(HistoryFile::OpenToRead(file_).Trends({.operator_name = "add"})[0].points[0].self.mean, 13 / 4.0);
  EXPECT_EQ(ReadTextFile(file_), before);
  HistoryRun run = MakeRun(2);
  run.results[0].operators[0].by_launch = {1, 2, 3, 4};
  HistoryFile history = HistoryFile::OpenToAdd(file_);
  history.Add(run);
  EXPECT_EQ(history.CountRuns(), 2);
  const TrendData trend = history.Trends({.with_operators = true}).at(0);
  EXPECT_THAT(trend.operators.at(0).times.at(1).by_launch, testing::ElementsAre(1, 2, 3, 4));
}

TEST_F(HistoryFileTest, StoresTheFilesOfTheReference) {
  HistoryFile history = HistoryFile::OpenToAdd(file_);
  HistoryRun run = MakeRun(1);
  run.reference = "fixed";
  run.results.push_back(run.results[0]);
  run.results[1].series.experiment = "fixed";
  run.results[1].model_sha256 = "fixed model";
  run.results[1].runner_sha256 = "fixed runner";
  history.Add(run);
  const std::vector<TrendData> trends = history.Trends({.experiment = "base"});
  EXPECT_EQ(trends.at(0).points.at(0).reference_artifact.model_sha256, "fixed model");
  EXPECT_EQ(trends.at(0).points.at(0).reference_artifact.runner_sha256, "fixed runner");
}

TEST_F(HistoryFileTest, StoresARunOnce) {
  HistoryFile history = HistoryFile::OpenToAdd(file_);
  EXPECT_EQ(history.Add(MakeRun(1)), AddOutcome::kNew);
  EXPECT_EQ(history.Add(MakeRun(1)), AddOutcome::kAlreadyThere);
  EXPECT_EQ(history.CountRuns(), 1);
  EXPECT_EQ(history.Add(MakeRun(1, 5)), AddOutcome::kReplaced);  // it was resumed
  EXPECT_EQ(history.Add(MakeRun(1, 3)), AddOutcome::kAlreadyThere);
  EXPECT_EQ(history.CountRuns(), 1);
  EXPECT_EQ(history.Trends({})[0].points[0].launches.size(), 6U);
  HistoryRun other = MakeRun(1);
  other.commit = "another";
  EXPECT_THROW(history.Add(other), Error);
  EXPECT_EQ(history.Add(other, HistoryFile::CommitConflict::kKeepCommit), AddOutcome::kAlreadyThere);
  other = MakeRun(1, 6);
  other.commit = "another";
  EXPECT_EQ(history.Add(other, HistoryFile::CommitConflict::kKeepCommit), AddOutcome::kReplaced);
  EXPECT_EQ(history.Trends({})[0].points[0].commit, "c1");
  EXPECT_EQ(history.Trends({})[0].points[0].time, 1001);
}

TEST_F(HistoryFileTest, RefusesOtherFilesAndLeavesThemUnchanged) {
  const auto expect_unchanged = [&](const auto& open) {
    const std::string before = ReadTextFile(file_);
    EXPECT_THROW(open(file_), Error);
    EXPECT_EQ(ReadTextFile(file_), before);
  };
  std::ofstream(file_) << "a text";
  expect_unchanged(HistoryFile::OpenToAdd);
  expect_unchanged(HistoryFile::OpenToRead);
  fs::remove(file_);
  { Database(file_, Database::Mode::kCreate).Execute("CREATE TABLE other(x)"); }
  expect_unchanged(HistoryFile::OpenToAdd);
  expect_unchanged(HistoryFile::OpenToRead);
  fs::remove(file_);
  { HistoryFile::OpenToAdd(file_).Add(MakeRun(1)); }
  { Database(file_, Database::Mode::kWrite).Execute("PRAGMA user_version = 4"); }
  expect_unchanged(HistoryFile::OpenToAdd);
  expect_unchanged(HistoryFile::OpenToRead);
}

TEST_F(HistoryFileTest, FindsTwoModelsOfTheSameNameInACommit) {
  HistoryFile history = HistoryFile::OpenToAdd(file_);
  HistoryRun first = MakeRun(1), again = MakeRun(2), other = MakeRun(3), untraced = MakeRun(4),
             later = MakeRun(5);
  for (HistoryRun* run : {&again, &other, &untraced}) run->commit = first.commit;
  other.results[0].operators.pop_back();
  untraced.results[0].operators.clear();
  later.results[0].operators = {{"forward/0/kernel/0", "sub", 400}};
  history.Add(first);
  history.Add(again);
  EXPECT_THAT(history.FindOperatorConflicts(again.identity), testing::IsEmpty());
  history.Add(untraced);
  EXPECT_THAT(history.FindOperatorConflicts(untraced.identity), testing::IsEmpty());
  history.Add(later);
  EXPECT_THAT(history.FindOperatorConflicts(later.identity), testing::IsEmpty());  // another commit
  history.Add(other);
  EXPECT_THAT(history.FindOperatorConflicts(other.identity), testing::ElementsAre(first.results[0].series));
  EXPECT_THAT(history.FindOperatorConflicts(first.identity), testing::ElementsAre(first.results[0].series));
}

TEST_F(HistoryFileTest, ReportsDamageBeforeAdding) {
  HistoryFile::OpenToAdd(file_).Add(MakeRun(1));
  HistoryFile::RequireAddable(file_);
  const std::uintmax_t size = fs::file_size(file_);
  constexpr int kPage = 4096;
  ASSERT_GT(size, 3U * kPage);
  {
    std::fstream out(file_, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(2 * kPage);
    out << std::string(kPage, '\xff');
  }
  const std::string before = ReadTextFile(file_);
  try {
    HistoryFile::RequireAddable(file_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    EXPECT_EQ(error.file(), file_.string());
    // The problem ends with a text of SQLite, which depends on its version.
    const std::string problem = error.problem().substr(0, error.problem().find(':'));
    ExpectGoldenMessages("history/damaged_history", {{"problem", problem}, {"remedy", error.remedy()}});
  }
  EXPECT_EQ(ReadTextFile(file_), before);
}

TEST_F(HistoryFileTest, ReportsMissingPermissionBeforeAdding) {
  HistoryFile::OpenToAdd(file_).Add(MakeRun(1));
  fs::permissions(file_, fs::perms(0444));
  fs::permissions(folder_, fs::perms(0555));
  // Root may write everything.
  const auto exit_code_as_user = [](const fs::path& file) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
      try {
        HistoryFile::RequireAddable(file);
      } catch (const Error& error) {
        ::_exit(static_cast<int>(error.exit_code()));
      }
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(exit_code_as_user(file_), static_cast<int>(ExitCode::kDeviceFailed));
  EXPECT_EQ(exit_code_as_user(folder_ / "new.sqlite"), static_cast<int>(ExitCode::kDeviceFailed));
  fs::permissions(folder_, fs::perms(0777));
  fs::permissions(file_, fs::perms(0666));
  EXPECT_EQ(exit_code_as_user(file_), 0);
  EXPECT_EQ(exit_code_as_user(folder_ / "new.sqlite"), 0);
}

TEST_F(HistoryFileTest, ReadingCreatesNothing) {
  EXPECT_THROW(HistoryFile::OpenToRead(file_), Error);
  EXPECT_FALSE(fs::exists(file_));
  std::ofstream{file_};
  EXPECT_THROW(HistoryFile::OpenToRead(file_), Error);
  EXPECT_EQ(fs::file_size(file_), 0U);
  EXPECT_EQ(HistoryFile::OpenToAdd(file_).Add(MakeRun(1)),
            AddOutcome::kNew);  // a killed creation leaves an empty file
  fs::permissions(file_, fs::perms::owner_read);
  EXPECT_EQ(HistoryFile::OpenToRead(file_).CountRuns(), 1);
}

TEST_F(HistoryFileTest, StoresAllRunsOfConcurrentWriters) {
  constexpr int kWriters = 4, kRuns = 12;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = ::fork();
    if (child == 0) {
      int failed = 0;
      try {
        for (int i = 0; i < kRuns; ++i) {
          HistoryFile history = HistoryFile::OpenToAdd(file_);
          history.Add(MakeRun(writer * kRuns + i));
          history.Add(MakeRun(1000));  // the same run in all writers
        }
      } catch (...) {
        failed = 1;
      }
      ::_exit(failed);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(HistoryFile::OpenToRead(file_).CountRuns(), kWriters * kRuns + 1);
}

TEST_F(HistoryFileTest, AFullDiskLosesNoStoredRun) {
  for (int i = 0; i < 3; ++i) HistoryFile::OpenToAdd(file_).Add(MakeRun(i));
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{fs::file_size(file_) + 8192, fs::file_size(file_) + 8192};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      HistoryFile::OpenToAdd(file_).Add(MakeRun(3, 20'000));
    } catch (const Error& error) {
      ::_exit(error.exit_code() == ExitCode::kDeviceFailed ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(HistoryFile::OpenToRead(file_).CountRuns(), 3);
  EXPECT_EQ(HistoryFile::OpenToAdd(file_).Add(MakeRun(3, 20'000)), AddOutcome::kNew);
}

TEST_F(HistoryFileTest, ReadsAfterAWriterWasKilled) {
  HistoryFile::OpenToAdd(file_).Add(MakeRun(1));
  const pid_t child = ::fork();
  if (child == 0) {
    Database database(file_, Database::Mode::kWrite);
    database.Execute("PRAGMA cache_size = 1; BEGIN IMMEDIATE;");  // changed pages reach the file at once
    database.Execute("DELETE FROM launch; DELETE FROM operator_time; UPDATE run SET commit_name = 'x';");
    for (int i = 0; i < 2000; ++i)
      database.Execute("INSERT INTO operator(key, name) SELECT hex(randomblob(99)), 'x'");
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_GT(fs::file_size(file_.string() + "-journal"), 0U);
  const auto before = Contents();
  EXPECT_EQ(HistoryFile::OpenToRead(file_).Trends({}).at(0).points.at(0).launches.size(), 4U);
  EXPECT_EQ(Contents(), before);  // reading writes nothing
  EXPECT_EQ(HistoryFile::OpenToAdd(file_).Add(MakeRun(2)), AddOutcome::kNew);
  EXPECT_EQ(Contents().size(), 1U);
  EXPECT_EQ(HistoryFile::OpenToRead(file_).CountRuns(), 2);
}

std::string BigEndian(std::uint32_t value) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> static_cast<unsigned>(shift));
  return bytes;
}

// A journal like that of a killed writer. It changes no page, but makes SQLite delete a file
// (https://www.sqlite.org/fileformat2.html#the_rollback_journal).
std::string JournalThatDeletes(const fs::path& victim, std::uint32_t pages) {
  const std::string magic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", name = victim.string();
  std::string journal =
      magic + BigEndian(0) + BigEndian(0) + BigEndian(pages) + BigEndian(512) + BigEndian(4096);
  journal.resize(512, '\0');
  std::uint32_t sum = 0;
  for (const char c : name) sum += static_cast<std::uint32_t>(c);
  return journal + BigEndian(0x40000000 / 4096 + 1) + name +
         BigEndian(static_cast<std::uint32_t>(name.size())) + BigEndian(sum) + magic;
}

TEST_F(HistoryFileTest, ForeignJournalsDeleteNothing) {
  HistoryFile::OpenToAdd(file_).Add(MakeRun(1));
  const fs::path journal = file_.string() + "-journal", victim = folder_ / "thesis.txt";
  const auto pages = static_cast<std::uint32_t>(fs::file_size(file_) / 4096);
  std::ofstream(victim) << "precious";
  std::string bytes = JournalThatDeletes(victim, pages);
  std::string huge = bytes.substr(0, 512);
  huge.replace(16, 4, "\xff\xff\xff\xff");  // number of pages of the rolled-back file
  std::string not_hot = bytes;
  not_hot[0] = '\0';
  for (const std::string& text : {bytes, not_hot, huge}) {
    std::ofstream(journal, std::ios::binary) << text;
    ExpectRefused();
  }
  fs::remove(journal);
  fs::create_symlink(victim, journal);
  ExpectRefused();
  fs::remove(journal);
  ASSERT_EQ(::mkfifo(journal.c_str(), 0600), 0);
  ExpectRefused();
  fs::remove(journal);
  std::ofstream(file_.string() + "-wal") << "x";
  ExpectRefused();
}

TEST_F(HistoryFileTest, FollowsLinksToHistoriesOnly) {
  const fs::path link = folder_ / "link", target = folder_ / "sub" / "target";
  fs::create_directory(target.parent_path());
  fs::create_symlink(target, link);
  EXPECT_THROW(HistoryFile::OpenToAdd(link), Error);
  EXPECT_FALSE(fs::exists(target));
  std::ofstream{target};
  EXPECT_THROW(HistoryFile::OpenToAdd(link), Error);
  EXPECT_EQ(fs::file_size(target), 0U);
  HistoryFile::OpenToAdd(target).Add(MakeRun(1));
  HistoryFile::OpenToAdd(link).Add(MakeRun(2));
  EXPECT_EQ(HistoryFile::OpenToRead(link).CountRuns(), 2);
  std::ofstream(target.string() + "-wal") << "x";  // SQLite looks next to the target
  EXPECT_THROW(HistoryFile::OpenToRead(link), Error);
}

TEST_F(HistoryFileTest, RefusesForeignSchemas) {
  for (const char* const sql :
       {"ALTER TABLE series RENAME TO s; CREATE VIEW series AS WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL "
        "SELECT "
        "n FROM a) SELECT n id, n model, n method, n experiment, n threads, n settings, n device FROM a",
        "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END", "CREATE VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE v USING fts5(x)", "CREATE INDEX i ON run(commit_name)",
        "DROP TABLE operator_time", "ALTER TABLE run ADD COLUMN x"}) {
    fs::remove(file_);
    HistoryFile::OpenToAdd(file_).Add(MakeRun(1));
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
    ExpectRefused();
  }
}

// A malicious file may pass all other checks and contain a view that keeps SQLite busy. This query does the
// same.
TEST_F(HistoryFileTest, BoundsTheWorkOfAllStatements) {
  HistoryFile::OpenToAdd(file_).Add(MakeRun(1));
  Database database(file_, Database::Mode::kRead);
  EXPECT_EQ(database.QueryInteger("SELECT count(*) FROM run"), 1);
  try {
    database.QueryInteger(
        "WITH RECURSIVE endless(n) AS (SELECT 1 UNION ALL SELECT n FROM endless) SELECT count(*) FROM "
        "endless");
    FAIL() << "it ended";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput) << error.Message();
  }
}

TEST_F(HistoryFileTest, RefusesTooLongTexts) {
  HistoryFile::OpenToAdd(file_).Add(MakeRun(1));
  { Database(file_, Database::Mode::kWrite).Execute("UPDATE run SET commit_name = hex(zeroblob(2000000))"); }
  EXPECT_NO_THROW(HistoryFile::OpenToRead(file_).Trends({}));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "UPDATE run SET commit_name = hex(zeroblob(8000000))", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  EXPECT_THROW(HistoryFile::OpenToRead(file_).Trends({}), Error);
}

// After a kill at any moment, every run that was reported as added is stored completely.
TEST_F(HistoryFileTest, AKillLosesNoStoredRun) {
  int reported = 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      for (int i = 0;; ++i) {
        HistoryFile::OpenToAdd(file_).Add(MakeRun(attempt * 100'000 + i, 200));
        if (::write(ends[1], "x", 1) != 1) ::_exit(1);
      }
    }
    ::close(ends[1]);
    ::usleep(static_cast<useconds_t>(3000 + 1700 * attempt));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    char byte = 0;
    while (::read(ends[0], &byte, 1) == 1) ++reported;
    ::close(ends[0]);
  }
  HistoryFile history = HistoryFile::OpenToAdd(file_);
  const auto count = history.CountRuns();
  EXPECT_GE(count, reported);
  EXPECT_LE(count, reported + 12);
  for (const TrendData& trend : history.Trends({.last = 0})) {
    EXPECT_EQ(trend.points.size(), static_cast<std::size_t>(count));
    for (const TrendPoint& point : trend.points) EXPECT_EQ(point.launches.size(), 201U);
  }
}

}  // namespace
}  // namespace etprof
