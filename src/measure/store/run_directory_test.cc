#include "measure/store/run_directory.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"
#include "core/json/json_members.h"
#include "format/etdump/reader.h"
#include "measure/store/latency_csv.h"
#include "measure/store/outputs.h"
#include "measure/store/run_data.h"

namespace etprof {
namespace {

const std::string kHash(64, '0');

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RunDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void Write(const std::string& path, const std::string& text) { WriteFileAtomically(folder / path, text); }
  void CopyEtdump(const std::string& path) {
    std::filesystem::create_directories((folder / path).parent_path());
    std::filesystem::copy_file(ETPROF_TEST_DATA "/toy_cnn.t1.etdump", folder / path);
  }
  // Messages as one text without the path of the folder.
  std::string Join(const std::vector<std::string>& messages) const {
    return ReplaceAll(fmt::to_string(fmt::join(messages, " | ")), folder.string(), "FOLDER");
  }
  // Tests run concurrently, so the name has the PID.
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("etprof_run_directory_" + std::to_string(::getpid()));
};

Launch MakeLaunch(int index) {
  Launch launch;
  launch.index = index;
  launch.load = 5;
  launch.first_run = 900;
  launch.warmup = {300, 200};
  for (int round = 0; round < 2; ++round) {
    Burst burst;
    burst.round = round;
    burst.order = 1 - round;
    burst.opening = {150};
    burst.recorded = {100, 110, 105};
    burst.traced = {120};
    burst.migrations = 0;
    burst.temperature_celsius = 41.5;
    launch.bursts.push_back(burst);
  }
  return launch;
}

RunData MakeRun(const std::filesystem::path& folder) {
  RunData run;
  run.folder = folder;
  run.status = RunData::Status::kComplete;
  run.generated_at = "2026-01-01T00:00:00Z";
  run.config_hash = kHash;
  run.model = "/m/toy.pte";
  run.model_id = "toy";
  run.device = DeviceProperties{};
  run.device->cpu_model = "A CPU";
  run.configuration = R"({"seed": 1})";
  for (const char* name : {"a", "b"}) {
    ExperimentData data;
    data.name = name;
    data.label = std::string("label ") + name;
    data.model = run.model;
    data.isa = "-avx2";
    data.isa_state = protocol::IsaState{};
    data.isa_state->masked = {"avx2"};
    data.launches = {MakeLaunch(0), MakeLaunch(1)};
    data.latency_csv = folder / name / (std::string("toy_") + name + "_t1_latency.csv");
    run.experiments.push_back(data);
  }
  run.pairs.push_back({0, 1, "", "label a", "label b", OutputDifference{true, false, 0.5, 0.1, "differ"}});
  return run;
}

TEST_F(RunDirectoryTest, RoundTripsThroughItsFiles) {
  const RunData run = MakeRun(folder);
  const RunDirectory directory = RunDirectory::Open(folder);
  for (const ExperimentData& data : run.experiments) {
    for (const Launch& launch : data.launches) AppendLatencies(data.latency_csv, launch, false);
  }
  directory.WriteManifest(run);
  const RunData loaded = LoadRunDirectory(folder);
  EXPECT_THAT(loaded.problems, IsEmpty());
  EXPECT_EQ(ToJson(loaded, loaded.folder).dump(1), ToJson(run, run.folder).dump(1));
  ASSERT_EQ(loaded.experiments.size(), 2u);
  EXPECT_EQ(loaded.experiments[1].launches[1].bursts[1].recorded,
            run.experiments[1].launches[1].bursts[1].recorded);
  EXPECT_EQ(loaded.experiments[1].launches[1].bursts[1].opening,
            run.experiments[1].launches[1].bursts[1].opening);
  EXPECT_EQ(loaded.experiments[1].launches[1].warmup, run.experiments[1].launches[1].warmup);
  EXPECT_EQ(loaded.experiments[0].Bursts().size(), 4u);
  EXPECT_EQ(loaded.pairs.at(0).outputs->largest_absolute, 0.5);
  EXPECT_EQ(loaded.device->cpu_model, "A CPU");
}

TEST_F(RunDirectoryTest, LoadsTruncatedLatencyFiles) {
  const RunData run = MakeRun(folder);
  const std::filesystem::path path = run.experiments[0].latency_csv;
  AppendLatencies(path, run.experiments[0].launches[0], false);
  const std::string complete_text = ReadTextFile(path);
  for (std::size_t length = 0; length <= complete_text.size(); ++length) {
    WriteFileAtomically(path, complete_text.substr(0, length));
    std::vector<Launch> launches = {MakeLaunch(0)};
    launches[0].bursts[0].recorded.clear();
    launches[0].bursts[1].recorded.clear();
    std::vector<std::string> problems;
    ReadLatencies(path, launches, problems);
    EXPECT_LE(launches[0].bursts[0].recorded.size(), 3u);
    if (length == complete_text.size()) {
      EXPECT_THAT(problems, IsEmpty());
      EXPECT_THAT(launches[0].bursts[1].recorded, ElementsAre(100, 110, 105));
    }
  }
}

TEST_F(RunDirectoryTest, ReportsRowsOfUnknownLaunches) {
  const std::filesystem::path path = folder / "x.csv";
  AppendLatencies(path, MakeLaunch(7), false);
  std::vector<Launch> launches;
  std::vector<std::string> problems;
  ReadLatencies(path, launches, problems);
  ExpectGolden("measure/store/rows_of_unknown_launches", Join(problems) + "\n");
}

TEST_F(RunDirectoryTest, SkipsManifestEntriesOfWrongTypes) {
  Write("manifest.json",
        R"({"status": 7, "model": ["x"], "results": [{"experiment": 3, "launches": [{"bursts": 5}, 9]}, "x"],
                             "schedule": [], "pairs": [{"baseline": {"experiment": "no"}}], "device": "d"})");
  const RunData run = LoadRunDirectory(folder);
  EXPECT_EQ(run.status, RunData::Status::kUnknown);
  ExpectGolden("measure/store/manifest_with_wrong_types", run.problems);
  Write("manifest.json", "{");
  EXPECT_THROW(LoadRunDirectory(folder), Error);  // the folder has no other file
}

TEST_F(RunDirectoryTest, WarnsOfManifestsOfNewerVersions) {
  Write("manifest.json", R"({"schema_version": 1, "status": "complete", "results": []})");
  EXPECT_THAT(LoadRunDirectory(folder).problems, Not(Contains(HasSubstr("schema version"))));
  Write("manifest.json", R"({"schema_version": 99, "status": "complete", "results": []})");
  EXPECT_THAT(
      LoadRunDirectory(folder).problems,
      Contains("manifest.json has schema version 99, and this etprof knows 1: what that added or changed "
               "is not read"));
}

TEST_F(RunDirectoryTest, LoadsKitLayoutsWithoutJson) {
  CopyEtdump("mac_sme2_on/toy_cnn_mac_sme2_on_t1.etdump");
  CopyEtdump("mac_sme2_off/toy_cnn_mac_sme2_off_t4.etdump");
  CopyEtdump("mac_sme2_off/mac_sme2_off_t1.etdump");
  CopyEtdump("flat.etdump");
  CopyEtdump("previous/x/old.etdump");
  Write("mac_sme2_on/toy_cnn_mac_sme2_on_t1.log", "log");
  const RunData run = LoadRunDirectory(folder);
  std::vector<std::string> experiments;
  for (const ExperimentData& data : run.experiments)
    experiments.push_back(data.name + " " + std::to_string(data.threads));
  EXPECT_THAT(experiments, ElementsAre("flat 0", "mac_sme2_off 1", "mac_sme2_off 4", "mac_sme2_on 1"));
  EXPECT_EQ(run.model_id, "toy_cnn");
  EXPECT_EQ(run.status, RunData::Status::kUnknown);
  EXPECT_FALSE(run.experiments[3].log.empty());
  ExpectGolden("measure/store/run_without_manifest", run.problems);
}

TEST_F(RunDirectoryTest, RejectsOtherFolders) {
  EXPECT_THROW(LoadRunDirectory(folder), Error);
  EXPECT_THROW(LoadRunDirectory(folder / "none"), Error);
  Write("file", "x");
  EXPECT_THROW(LoadRunDirectory(folder / "file"), Error);
}

TEST_F(RunDirectoryTest, NamesRunsBelowNextToUnreadableFolders) {
  const std::filesystem::path run = folder / "runs/b", unreadable = folder / "runs/a";
  RunDirectory::Open(run).WriteManifest(MakeRun(run));
  std::filesystem::create_directory(unreadable);
  std::filesystem::permissions(unreadable, std::filesystem::perms::none);  // root reads it anyway
  try {
    LoadRunDirectory(folder / "runs");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.problem(), "is not a results directory, but holds one: b");
  }
  std::filesystem::permissions(unreadable, std::filesystem::perms::owner_all);
}

TEST_F(RunDirectoryTest, FindsParentRunOfExperimentFoldersOnly) {
  RunDirectory::Open(folder).WriteManifest(MakeRun(folder));
  CopyEtdump("a/toy_cnn_a_t1.etdump");
  CopyEtdump("notes/toy_cnn.etdump");
  EXPECT_EQ(FindParentRun(folder / "a"), std::filesystem::canonical(folder));
  EXPECT_EQ(FindParentRun(folder / "a/"), std::filesystem::canonical(folder));
  for (const char* other : {"notes", "b", ".", "a/toy_cnn_a_t1.etdump"})
    EXPECT_EQ(FindParentRun(folder / other), "");
  ExpectGoldenMessages("measure/store/subfolders_of_run",
                       {{"of an experiment", Join(LoadRunDirectory(folder / "a").problems)},
                        {"of something else", Join(LoadRunDirectory(folder / "notes").problems)}});
}

TEST_F(RunDirectoryTest, LocksTheFolder) {
  const auto first = std::make_unique<RunDirectory>(RunDirectory::Open(folder));
  try {
    RunDirectory::Open(folder);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kDeviceFailed);
    const std::string process = fmt::format("process {}", ::getpid());
    ExpectGolden("measure/store/locked_run",
                 ReplaceAll(Join({error.Message()}), process, "process PID") + "\n");
  }
}

// A process that a killed etprof has just forked inherits its lock and holds it until it ends.
TEST_F(RunDirectoryTest, WaitsForALockThatAKilledProcessLeft) {
  const pid_t child = ::fork();
  if (child == 0) {
    const RunDirectory directory = RunDirectory::Open(folder);
    if (::fork() == 0) ::usleep(300'000);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_NO_THROW(RunDirectory::Open(folder));
}

TEST_F(RunDirectoryTest, MovesOnlyItsOwnFilesAway) {
  const RunDirectory directory = RunDirectory::Open(folder);
  EXPECT_TRUE(directory.ArchiveOldRun({"a"}).empty());
  Write("config.json", "mine");
  EXPECT_TRUE(std::filesystem::exists(directory.ArchiveOldRun({"a"}) / "config.json"));
  Write("config.json", "mine");
  EXPECT_TRUE(directory.ArchiveOldRun({"a"}, folder / "config.json").empty());
  std::filesystem::remove(folder / "config.json");
  directory.WriteManifest(MakeRun(folder));
  Write("a/x.etdump", "x");
  Write("b/x.etdump", "x");
  Write("mine/notes.txt", "x");
  Write("report.md", "x");
  const std::string model = MakeRun(folder).model_id;
  Write(model + "_comparison.csv", "x");
  Write("mine_comparison.csv", "x");
  const std::filesystem::path moved = directory.ArchiveOldRun({});
  EXPECT_TRUE(std::filesystem::exists(moved / "a/x.etdump"));
  EXPECT_TRUE(std::filesystem::exists(moved / "b/x.etdump"));
  EXPECT_TRUE(std::filesystem::exists(moved / "report.md"));
  EXPECT_TRUE(std::filesystem::exists(moved / (model + "_comparison.csv")));
  EXPECT_TRUE(std::filesystem::exists(folder / "mine_comparison.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder / "mine/notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder / "manifest.json"));
}

TEST_F(RunDirectoryTest, MergesPartsOnce) {
  ExperimentData data;
  data.name = "a";
  const std::vector<RunLabel> labels(20, RunLabel{0, 0, Phase::kSteady});
  for (int i = 0; i < 2; ++i) {
    Launch launch = MakeLaunch(i);
    launch.etdump_part = EtdumpPart("a/toy_a_t1", i);
    launch.traced_runs = labels;
    CopyEtdump(launch.etdump_part);
    data.launches.push_back(launch);
  }
  ExperimentData data_of_killed_process = data;  // etprof was killed after merging, before writing this
  EXPECT_TRUE(MergeParts(folder, "a/toy_a_t1", data));
  EXPECT_EQ(data.etdump_runs.size(), 40u);
  EXPECT_EQ(CountRuns(data.etdump), 40u);
  MergeParts(folder, "a/toy_a_t1", data_of_killed_process);
  EXPECT_EQ(CountRuns(data_of_killed_process.etdump), 40u);
  EXPECT_EQ(data_of_killed_process.etdump_runs.size(), 40u);
  EXPECT_TRUE(RemoveParts(folder, "a/toy_a_t1", data));
  EXPECT_FALSE(std::filesystem::exists(folder / "a/launches"));
  EXPECT_FALSE(MergeParts(folder, "a/toy_a_t1", data));
  EXPECT_FALSE(RemoveParts(folder, "a/toy_a_t1", data));
}

TEST_F(RunDirectoryTest, LeavesForeignManifestUnchanged) {
  const std::string text = R"({"name": "my web app", "status": "running"})";
  WriteFileAtomically(folder / "manifest.json", text);
  EXPECT_THROW(RecoverRunDirectory(folder), Error);
  EXPECT_EQ(ReadTextFile(folder / "manifest.json"), text);
}

TEST_F(RunDirectoryTest, IgnoresManifestPathsOutsideTheFolder) {
  const std::filesystem::path run = folder / "run";
  Write("outside.etdump", "not of the run");
  CaseMessages problems;
  for (const std::string& part : {std::string("../outside.etdump"), (folder / "outside.etdump").string(),
                                  std::string("a/../../outside.etdump")}) {
    SCOPED_TRACE(part);
    nlohmann::json manifest = {{"status", "running"}, {"config_hash", kHash}, {"model", "/m/toy.pte"}};
    manifest["results"] = {{{"experiment", "a"}, {"launches", {{{"index", 0}, {"etdump_part", part}}}}}};
    Write("run/manifest.json", manifest.dump());
    const RunData read = LoadRunDirectory(run);
    EXPECT_EQ(read.experiments[0].launches[0].etdump_part, "");
    problems.emplace_back(Join({part}), Join(read.problems));
    RecoverRunDirectory(run);
    EXPECT_TRUE(std::filesystem::exists(folder / "outside.etdump"));
  }
  ExpectGoldenMessages("measure/store/parts_outside_run", problems);
  for (const char* name : {"..", "../b", "/tmp/b", "b/c"}) {
    SCOPED_TRACE(name);
    nlohmann::json manifest = {{"status", "running"}, {"config_hash", kHash}, {"model", "/m/toy.pte"}};
    manifest["results"] = {
        {{"experiment", name}, {"launches", {{{"index", 0}, {"etdump_part", "l0.etdump"}}}}}};
    Write("run/manifest.json", manifest.dump());
    EXPECT_THROW(RecoverRunDirectory(run), Error);
  }
}

TEST_F(RunDirectoryTest, RecoverLeavesCompleteRunUnchanged) {
  RunData run = MakeRun(folder);
  run.config_hash = kHash;
  run.status = RunData::Status::kInterrupted;
  run.configuration = R"({"model": "/m/toy.pte", "launches": 3})";  // keys are not sorted
  for (const ExperimentData& data : run.experiments) {
    for (const Launch& launch : data.launches) AppendLatencies(data.latency_csv, launch, false);
  }
  RunDirectory::Open(folder).WriteManifest(run);
  const std::string written = ReadTextFile(folder / "manifest.json");
  EXPECT_FALSE(RecoverRunDirectory(folder));
  EXPECT_EQ(ReadTextFile(folder / "manifest.json"), written);
}

TEST_F(RunDirectoryTest, RecoverKeepsTheNamesOfMissingFiles) {
  RunData run = MakeRun(folder);
  for (ExperimentData& data : run.experiments) {
    for (const Launch& launch : data.launches) AppendLatencies(data.latency_csv, launch, false);
    data.etdump = folder / data.name / ("toy_" + data.name + "_t1.etdump");
    CopyEtdump(data.etdump.lexically_relative(folder).string());
  }
  RunDirectory::Open(folder).WriteManifest(run);
  std::filesystem::remove_all(folder / "a");
  const std::string written = ReadTextFile(folder / "manifest.json");
  EXPECT_FALSE(RecoverRunDirectory(folder));
  EXPECT_EQ(ReadTextFile(folder / "manifest.json"), written);
  // A killed measurement of which a file is missing.
  run.status = RunData::Status::kRunning;
  RunDirectory::Open(folder).WriteManifest(run);
  EXPECT_TRUE(RecoverRunDirectory(folder));
  const nlohmann::json recovered = ParseJson(ReadTextFile(folder / "manifest.json"));
  EXPECT_EQ(recovered.at("status"), "interrupted");
  EXPECT_EQ(recovered.at("results").at(0).at("etdump"), "a/toy_a_t1.etdump");
  EXPECT_EQ(recovered.at("results").at(0).at("latency_csv"), "a/toy_a_t1_latency.csv");
}

TEST_F(RunDirectoryTest, RemovesCreatedFoldersIfNothingWasWritten) {
  RunDirectory::Open(folder / "new" / "x");
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
  std::filesystem::create_directories(folder / "mine");
  RunDirectory::Open(folder / "mine" / "x");
  EXPECT_FALSE(std::filesystem::exists(folder / "mine" / "x"));
  EXPECT_TRUE(std::filesystem::exists(folder / "mine"));
  RunDirectory::Open(folder / "mine");
  EXPECT_TRUE(std::filesystem::exists(folder / "mine"));
  {
    const RunDirectory directory = RunDirectory::Open(folder / "kept" / "x");
    Write("kept/x/config.json", "{}");
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "kept/x/config.json"));
}

TEST_F(RunDirectoryTest, RejectsALockThatIsNotARegularFile) {
  const std::filesystem::path lock = folder / ".lock";
  const auto message = [&]() -> std::string {
    try {
      RunDirectory::Open(folder);
    } catch (const Error& error) {
      return error.Message();
    }
    return "";
  };
  ASSERT_EQ(::mkfifo(lock.c_str(), 0600), 0);
  EXPECT_THAT(message(), HasSubstr(".lock: is not a regular file"));
  std::filesystem::remove(lock);
  std::filesystem::create_symlink("elsewhere", lock);
  EXPECT_THAT(message(), HasSubstr(".lock: is not a regular file"));
  std::filesystem::remove(lock);
  std::filesystem::create_directory(lock);
  EXPECT_THAT(message(), HasSubstr(".lock: is not a regular file"));
}

// The paths and contents of all files below a folder.
std::map<std::string, std::string> Snapshot(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    files[entry.path().string()] = entry.is_regular_file() ? ReadTextFile(entry.path()) : "";
  return files;
}

TEST_F(RunDirectoryTest, AcceptsOnlyPartsWithEtprofNames) {
  const std::filesystem::path run = folder / "run";
  Write("elsewhere/thesis.txt", "precious");
  CopyEtdump("elsewhere/toy_a_t1_l000.etdump");
  CopyEtdump("run/mine.etdump");
  std::filesystem::create_directory_symlink(folder / "elsewhere", run / "link");
  std::filesystem::create_directories(run / "a");
  std::filesystem::create_directory_symlink(folder / "elsewhere", run / "a/launches");
  CaseMessages warnings;
  for (const std::string& part : {std::string("link/thesis.txt"), std::string("link/toy_a_t1_l000.etdump"),
                                  std::string("mine.etdump"), EtdumpPart("a/toy_a_t1", 0)}) {
    SCOPED_TRACE(part);
    nlohmann::json manifest = {{"status", "running"}, {"config_hash", kHash}, {"model", "/m/toy.pte"}};
    manifest["results"] = {{{"experiment", "a"}, {"model", "/m/toy.pte"}}};
    manifest["results"][0]["launches"] = {{{"index", 0}, {"etdump_part", part}}};
    Write("run/manifest.json", manifest.dump());
    const auto before = Snapshot(folder / "elsewhere");
    const auto mine = Snapshot(run);
    RunData read = LoadRunDirectory(run);
    RecoverInMemory(read);
    warnings.emplace_back(part, Join(read.experiments[0].warnings));
    EXPECT_EQ(Snapshot(run), mine);
    RecoverRunDirectory(run);
    EXPECT_EQ(Snapshot(folder / "elsewhere"), before);
    EXPECT_TRUE(std::filesystem::exists(run / "mine.etdump"));
  }
  ExpectGoldenMessages("measure/store/parts_with_other_names", warnings);
}

TEST_F(RunDirectoryTest, SkipsAndCountsInvalidNumbers) {
  nlohmann::json manifest = {{"model", "/m/toy.pte"}};
  nlohmann::json& result = manifest["results"][0];
  result["experiment"] = "a";
  result["threads"] = 4294967298;  // 2 if truncated to 32 bits
  result["etdump_runs"] = {
      {{"launch", 0}, {"runs", -1}}, {{"launch", 0}, {"runs", 4}}, {{"launch", 0}, {"runs", 9'999'999}}};
  result["launches"] = {{{"index", 0}}};
  Write("manifest.json", manifest.dump());
  const RunData run = LoadRunDirectory(folder);
  EXPECT_EQ(run.experiments[0].threads, 1);
  ExpectGolden("measure/store/manifest_with_wrong_numbers", run.problems);
}

TEST_F(RunDirectoryTest, RejectsDeeplyNestedManifests) {
  Write("manifest.json", R"({"configuration": )" + std::string(200'000, '['));
  EXPECT_THROW(LoadRunDirectory(folder), Error);
  std::string manifest_text;
  for (int i = 0; i < 200'000; ++i) manifest_text += R"({"configuration": )";
  Write("manifest.json", manifest_text + "1" + std::string(200'000, '}'));
  EXPECT_THROW(LoadRunDirectory(folder), Error);
}

TEST_F(RunDirectoryTest, KeepsTheUsersConfigurationWhenMovingAnOldRun) {
  RunData run = MakeRun(folder);
  const RunDirectory directory = RunDirectory::Open(folder);
  directory.WriteManifest(run);
  WriteFileAtomically(folder / "config.json", std::string("// mine\n{}"));
  EXPECT_FALSE(directory.ArchiveOldRun({}, folder / "config.json").empty());
  EXPECT_EQ(ReadTextFile(folder / "config.json"), "// mine\n{}");
  EXPECT_FALSE(std::filesystem::exists(folder / "manifest.json"));
}

TEST_F(RunDirectoryTest, RecoversKilledMeasurement) {
  RunData run = MakeRun(folder);
  run.config_hash = kHash;
  run.status = RunData::Status::kRunning;
  run.pairs.clear();
  run.experiments.resize(1);
  Launch& launch = run.experiments[0].launches[0];
  launch.etdump_part = EtdumpPart("a/toy_a_t1", 0);
  launch.traced_runs.assign(20, RunLabel{});
  CopyEtdump(launch.etdump_part);
  AppendLatencies(run.experiments[0].latency_csv, launch, false);
  {
    const RunDirectory directory = RunDirectory::Open(folder);
    directory.WriteManifest(run);
    EXPECT_THROW(RecoverRunDirectory(folder), Error);  // the directory is locked
  }
  const auto before = Snapshot(folder);
  RunData read = LoadRunDirectory(folder);
  RecoverInMemory(read);
  EXPECT_EQ(Snapshot(folder), before);
  EXPECT_EQ(read.experiments[0].etdump_runs.size(), 20u);
  ASSERT_TRUE(read.experiments[0].etdump_contents);
  const std::string& contents = *read.experiments[0].etdump_contents;
  EXPECT_EQ(ExecuteTimes(ReadEtdump(std::as_bytes(std::span(contents)), "memory")).size(), 20u);
  EXPECT_TRUE(RecoverRunDirectory(folder));
  EXPECT_FALSE(RecoverRunDirectory(folder));
  const RunData loaded = LoadRunDirectory(folder);
  EXPECT_EQ(loaded.status, RunData::Status::kInterrupted);
  EXPECT_EQ(loaded.experiments[0].etdump_runs.size(), 20u);
  EXPECT_TRUE(std::filesystem::exists(loaded.experiments[0].etdump));
  EXPECT_EQ(loaded.experiments[0].launches[0].bursts[0].recorded.size(), 3u);
}

TEST_F(RunDirectoryTest, KeepsUnreadableParts) {
  ExperimentData data;
  data.name = "a";
  for (int i = 0; i < 2; ++i) {
    Launch launch = MakeLaunch(i);
    launch.etdump_part = EtdumpPart("a/toy_a_t1", i);
    launch.traced_runs.assign(20, RunLabel{i, 0, Phase::kSteady});
    data.launches.push_back(launch);
  }
  CopyEtdump(data.launches[1].etdump_part);
  Write(data.launches[0].etdump_part, "not yet");
  EXPECT_TRUE(MergeParts(folder, "a/toy_a_t1", data));
  ExpectGolden("measure/store/unreadable_parts", Join(data.warnings) + "\n");
  EXPECT_EQ(data.etdump_runs.size(), 20u);
  EXPECT_EQ(data.launches[0].etdump_part, EtdumpPart("a/toy_a_t1", 0));
  EXPECT_EQ(data.launches[0].traced_runs.size(), 20u);
  EXPECT_EQ(data.launches[1].etdump_part, "");
  Write("a/launches/mine.etdump", "mine");
  EXPECT_TRUE(RemoveParts(folder, "a/toy_a_t1", data));
  EXPECT_EQ(ReadTextFile(folder / data.launches[0].etdump_part), "not yet");
  EXPECT_FALSE(std::filesystem::exists(folder / EtdumpPart("a/toy_a_t1", 1)));
  EXPECT_TRUE(std::filesystem::exists(folder / "a/launches/mine.etdump"));
}

TEST_F(RunDirectoryTest, DropsRowsOfUnknownLaunches) {
  const std::string stem = "a/toy_a_t1";
  const std::filesystem::path file = folder / (stem + "_latency.csv");
  EXPECT_FALSE(DropUnknownLatencies(folder, stem, {}));
  AppendLatencies(file, MakeLaunch(0), false);
  const std::string first = ReadTextFile(file);
  EXPECT_FALSE(DropUnknownLatencies(folder, stem, {MakeLaunch(0)}));
  AppendLatencies(file, MakeLaunch(1), false);
  WriteFileAtomically(file, ReadTextFile(file) + "0,1,0,3,reco");
  EXPECT_TRUE(DropUnknownLatencies(folder, stem, {MakeLaunch(0)}));
  EXPECT_EQ(ReadTextFile(file), first);
  // The manifest has no launch if the disk was full before the first launch ended.
  EXPECT_TRUE(DropUnknownLatencies(folder, stem, {}));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(RunDirectoryTest, RemovesTemporaryFilesOfKilledWriters) {
  const std::filesystem::path leftover = folder / "a" / ".etprof-999999999-0123456789abcdef.tmp";
  Write("a/mine.tmp", "mine");
  std::ofstream(leftover) << "half";
  const RunDirectory directory = RunDirectory::Open(folder);
  EXPECT_FALSE(std::filesystem::exists(leftover));
  EXPECT_TRUE(std::filesystem::exists(folder / "a/mine.tmp"));
}

std::string SafetensorsText(const std::string& dtype, const std::string& bytes) {
  const std::string header =
      nlohmann::json{{"forward/0", {{"dtype", dtype}, {"shape", {2}}, {"data_offsets", {0, bytes.size()}}}}}
          .dump();
  std::string text(8, '\0');
  text[0] = static_cast<char>(header.size());
  return text + header + bytes;
}

TEST_F(RunDirectoryTest, ComparesOutputs) {
  ExperimentData a, b;
  CaseMessages notes = {{"no digests", CompareOutputs(a, b, {}, {}).note}};
  protocol::OutputDigest digest;
  digest.info = {"Float", {2}};
  digest.sha256 = "x";
  a.output_digests = b.output_digests = {digest};
  EXPECT_TRUE(CompareOutputs(a, b, {}, {}).equal);
  b.output_digests[0].sha256 = "y";
  EXPECT_EQ(CompareOutputs(a, b, {}, {}).note, "outputs differ");
  const float baseline_values[] = {1.0F, 4.0F}, candidate_values[] = {1.5F, 4.0F};
  Write("a.st", SafetensorsText("F32", std::string(reinterpret_cast<const char*>(baseline_values), 8)));
  Write("b.st", SafetensorsText("F32", std::string(reinterpret_cast<const char*>(candidate_values), 8)));
  const auto difference = CompareOutputs(a, b, folder / "a.st", folder / "b.st");
  EXPECT_DOUBLE_EQ(*difference.largest_absolute, 0.5);
  EXPECT_DOUBLE_EQ(*difference.largest_relative, 0.5 / 1.5);
  Write("a.st", SafetensorsText("F16", std::string("\x00\x3c\x00\x44", 4)));  // 1, 4
  Write("b.st", SafetensorsText("F16", std::string("\x00\x3e\x00\x44", 4)));  // 1.5, 4
  EXPECT_DOUBLE_EQ(*CompareOutputs(a, b, folder / "a.st", folder / "b.st").largest_absolute, 0.5);
  // Inputs are compared by their values, not by their paths.
  const auto hash_inputs = [&](const std::string& name, const std::string& bytes, const std::string& method) {
    Write(name, SafetensorsText("F32", bytes));
    return HashInputs({folder / name}, method);
  };
  a.inputs_from = "saved a";
  b.inputs_from = "saved b";
  EXPECT_EQ(CompareOutputs(a, b, {}, {}).note, "outputs differ; the inputs may, too");
  a.inputs_sha256 = hash_inputs("a.inputs", "12345678", "forward");
  b.inputs_sha256 = hash_inputs("b.inputs", "12345678", "forward");
  EXPECT_EQ(a.inputs_sha256.size(), 64u);
  EXPECT_DOUBLE_EQ(*CompareOutputs(a, b, folder / "a.st", folder / "b.st").largest_absolute, 0.5);
  b.inputs_sha256 = hash_inputs("b.inputs", "12345679", "forward");
  EXPECT_EQ(CompareOutputs(a, b, {}, {}).note, "outputs differ, and so do the inputs");
  a.inputs_from = b.inputs_from;  // the same file with other contents
  EXPECT_EQ(CompareOutputs(a, b, {}, {}).note, "outputs differ, and so do the inputs");
  b.inputs_sha256 = a.inputs_sha256;
  EXPECT_EQ(HashInputs({folder / "a.inputs"}, "other"), "");
  EXPECT_EQ(HashInputs({folder / "none.inputs"}, "forward"), "");
  EXPECT_EQ(HashInputs({}, "forward"), "");
  EXPECT_EQ(HashInputs({folder / "a.st"}, "forward").size(), 64u);  // raw bytes
  Write("b.st", "junk");
  const std::string unreadable = CompareOutputs(a, b, folder / "a.st", folder / "b.st").note;
  notes.emplace_back("unreadable file", Join({unreadable}));
  ExpectGoldenMessages("measure/store/output_notes", notes);
  b.output_digests[0].info = {"Float", {3}};
  a.output_digests[0].info = {"Half", {1, 2}};
  EXPECT_FALSE(CompareOutputs(a, b, {}, {}).comparable);
  EXPECT_FALSE(CompareOutputs(a, b, {}, {}).equal);
  EXPECT_EQ(CompareOutputs(a, b, {}, {}).note,
            "outputs differ in type or shape: output 0 is Half [1, 2] and Float [3]");
  b.output_digests.push_back(b.output_digests[0]);
  EXPECT_EQ(CompareOutputs(a, b, {}, {}).note, "outputs differ in number: 1 and 2");
  EXPECT_FALSE(CompareOutputs(a, b, {}, {}).equal);
}

}  // namespace
}  // namespace etprof
