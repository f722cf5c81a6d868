#include "measure/conditions/load_watch.h"

#include <gmock/gmock.h>

#include "core/golden_testing.h"
#include "core/json/json.h"
#include "core/json/json_members.h"

namespace etprof {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// A fake machine with two cores, on which a compiler uses a given number of cores.
class LoadWatchTest : public testing::Test {
 protected:
  LoadWatch Watch() {
    return LoadWatch(
        [this]() -> std::optional<LoadSnapshot> {
          ++reads_;
          now_ += cost_;
          if (!readable_) return std::nullopt;
          LoadSnapshot snapshot;
          snapshot.seconds = now_;
          snapshot.cores = 2;
          snapshot.self = 7;
          snapshot.processes = {{7, 1, "etprof", 0.0, now_, now_}, {8, 1, "cc1plus", 0.0, used_, used_}};
          return snapshot;
        },
        [this] { return now_; }, 2);
  }
  void Launch(double seconds, double cores) {
    now_ += seconds;
    used_ += seconds * cores;
  }

  double now_ = 100, used_ = 3, cost_ = 0.001;
  bool readable_ = true;
  int reads_ = 0;
};

TEST_F(LoadWatchTest, AveragesLaunches) {
  LoadWatch watch = Watch();
  watch.Begin();
  EXPECT_FALSE(watch.load());
  Launch(1, 0.5);
  watch.AfterLaunch();
  Launch(3, 1.5);
  watch.AfterLaunch();
  watch.End();
  ASSERT_TRUE(watch.load());
  EXPECT_NEAR(watch.load()->process_cores.value(), 5.0 / 4, 0.01);
  EXPECT_NEAR(watch.load()->seconds, 4, 0.01);
  EXPECT_EQ(LoadingProcessesText(*watch.load()), "cc1plus used 1.2 of 2 cores");
}

TEST_F(LoadWatchTest, CombinesShortLaunches) {
  cost_ = 0.0001;
  LoadWatch watch = Watch();
  watch.Begin();
  for (int i = 0; i < 20; ++i) {
    Launch(0.01, 1);
    watch.AfterLaunch();
  }
  watch.End();
  ASSERT_TRUE(watch.load());
  EXPECT_NEAR(watch.load()->seconds, 0.2, 0.06);
  EXPECT_NEAR(watch.load()->process_cores.value(), 1, 0.1);
}

TEST_F(LoadWatchTest, TakesSlowSnapshotsRarely) {
  cost_ = 0.1;
  LoadWatch watch = Watch();
  watch.Begin();
  for (int i = 0; i < 10; ++i) {
    Launch(0.5, 1);
    watch.AfterLaunch();
  }
  EXPECT_EQ(reads_, 3);
  Launch(0.5, 1);
  watch.End();
  EXPECT_EQ(reads_, 4);
  EXPECT_NEAR(watch.load()->process_cores.value(), 1, 0.1);
}

TEST_F(LoadWatchTest, HasNoLoadIfItCannotBeRead) {
  readable_ = false;
  LoadWatch watch = Watch();
  watch.Begin();
  for (int i = 0; i < 5; ++i) {
    Launch(1, 1);
    watch.AfterLaunch();
  }
  watch.End();
  EXPECT_FALSE(watch.load());
  EXPECT_EQ(reads_, 2);
}

TEST_F(LoadWatchTest, ContinuesAnEarlierMeasurement) {
  LoadWatch watch = Watch();
  watch.Continue(OtherLoad{3, 2, std::nullopt, 1.0, {{"make", 1, 1.0}}});
  watch.Begin();
  Launch(1, 0);
  watch.AfterLaunch();
  EXPECT_NEAR(watch.load()->process_cores.value(), 0.75, 0.01);
  EXPECT_EQ(watch.load()->processes.at(0).name, "make");
}

OtherLoad MakeOtherLoad(double cores, const std::string& name) {
  return {1, 2, cores, cores, {{name, 1, cores}}};
}

TEST(LoadWarnings, HaveAtMostOneSentence) {
  RunData run;
  run.experiments.resize(1);
  EXPECT_THAT(LoadWarnings(run), IsEmpty());
  run.other_load_before = MakeOtherLoad(1.9, "cc1plus");
  const std::vector<std::string> before = LoadWarnings(run);
  EXPECT_THAT(before, SizeIs(1));
  run.other_load_during = MakeOtherLoad(0.1, "python3");
  EXPECT_EQ(LoadWarnings(run), before);
  run.other_load_during = MakeOtherLoad(1.1, "python3");
  const std::vector<std::string> during = LoadWarnings(run);
  EXPECT_THAT(during, SizeIs(1));
  run.other_load_before.reset();
  run.other_load_during = MakeOtherLoad(0.15, "python3");
  EXPECT_THAT(LoadWarnings(run), IsEmpty());
  run.experiments[0].threads = 2;  // the two threads need both cores
  const std::vector<std::string> both_cores = LoadWarnings(run);
  EXPECT_THAT(both_cores, SizeIs(1));
  ExpectGoldenMessages("measure/conditions/load_warnings",
                       {{"before", before.at(0)},
                        {"during", during.at(0)},
                        {"during, if both cores are needed", both_cores.at(0)}});
}

TEST(LoadWarnings, WarnBeforeAMeasurement) {
  EXPECT_EQ(LoadWarningBefore(MakeOtherLoad(0.2, "a"), 1), "");
  EXPECT_EQ(LoadWarningBefore(MakeOtherLoad(1.9, "a"), 1),
            "1 other process uses 1.9 of 2 cores (a). Times are less certain while that lasts.");
}

RunData ReadLoad(const std::string& list, std::int64_t& invalid_entries) {
  RunData run;
  invalid_entries = ReadJsonTolerantly(ParseJson("{\"other_load\": " + list + "}"), run, "/run");
  return run;
}

std::string WriteLoad(const RunData& run) { return ToJson(run)["other_load"].dump(); }

TEST(OtherLoadJson, RoundTrips) {
  RunData run;
  run.other_load_before = MakeOtherLoad(1.5, "a");
  run.other_load_before->machine_cores.reset();
  run.other_load_during = MakeOtherLoad(0.5, "b");
  for (int i = 0; i < 10; ++i) run.other_load_during->processes.push_back({"c", 1, 0.01});
  std::int64_t invalid_entries = 0;
  const RunData restored = ReadLoad(WriteLoad(run), invalid_entries);
  EXPECT_EQ(invalid_entries, 0);
  ASSERT_TRUE(restored.other_load_before && restored.other_load_during);
  EXPECT_FALSE(restored.other_load_before->machine_cores);
  EXPECT_EQ(restored.other_load_before->process_cores, 1.5);
  EXPECT_EQ(restored.other_load_during->processes.size(), kMaxLoadNames);
  EXPECT_EQ(restored.other_load_during->processes[0].name, "b");
  EXPECT_EQ(WriteLoad(RunData()), "[]");
}

TEST(OtherLoadJson, IgnoresImpossibleValues) {
  for (
      const char* entry :
      {R"({})", R"({"at": "after", "seconds": 1, "cores": 2})",
       R"({"at": "before", "seconds": -1, "cores": 2})", R"({"at": "before", "seconds": 1, "cores": 0})",
       R"({"at": "during", "seconds": 1, "cores": 2, "machine_cores": -0.5})",
       R"({"at": "during", "seconds": 1, "cores": 2, "processes": [{"name": "a", "count": 1, "cores": -1}]})"}) {
    std::int64_t invalid_entries = 0;
    const RunData run = ReadLoad("[" + std::string(entry) + "]", invalid_entries);
    EXPECT_FALSE(run.other_load_before || run.other_load_during) << entry;
    EXPECT_EQ(invalid_entries, 1) << entry;
  }
}

}  // namespace
}  // namespace etprof
