#include "measure/conditions/conditions.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/json/json_members.h"

namespace etprof {
namespace {

using ::testing::Test;

class RecordedProgress : public Progress {
 public:
  void Update(const ProgressUpdate&) override {}
  void Message(const std::string& text) override { messages.push_back(text); }
  void Waiting(const std::string& text) override { waits.push_back(text); }
  std::vector<std::string> messages, waits;
};

DeviceVitals::Clock Clock(std::vector<int> cpus, std::int64_t cap, std::int64_t maximum) {
  DeviceVitals::Clock clock;
  clock.cpus = std::move(cpus);
  clock.cap_khz = cap;
  clock.hardware_max_khz = maximum;
  return clock;
}

// A fake device at `celsius` degrees that cools by one degree per second.
class Cooling : public Test {
 protected:
  ConditionsWatch Watch(std::optional<double> limit, std::vector<int> cpus = {}) {
    return {[this](bool all) { return Read(all); },
            std::move(cpus),
            {.max_celsius = limit,
             .wait_seconds = 20,
             .now = [this] { return now_; },
             .sleep =
                 [this](double seconds) {
                   now_ += seconds;
                   if (celsius_) celsius_ = std::max(*celsius_ - seconds, coldest_);
                   if (now_ >= status_ends_) status_ = 0;
                 },
             .interrupted = [this] { return interrupted_; },
             .progress = &progress_}};
  }
  std::optional<DeviceVitals> Read(bool all) {
    ++readings_;
    full_readings_ += all ? 1 : 0;
    if (lost_) return std::nullopt;
    DeviceVitals vitals;
    if (!only_services_report_) vitals.sources = "z0 ";
    if (all || !only_services_report_) vitals.cpu_celsius = celsius_;
    vitals.skin_celsius = skin_celsius_;
    if (all) vitals.thermal_status = status_;
    vitals.clocks = clocks_;
    return vitals;
  }

  RecordedProgress progress_;
  double now_ = 100, coldest_ = 0, status_ends_ = 1e9;
  std::optional<double> celsius_ = 50, skin_celsius_;
  std::optional<int> status_;
  std::vector<DeviceVitals::Clock> clocks_;
  bool lost_ = false, interrupted_ = false, only_services_report_ = false;
  int readings_ = 0, full_readings_ = 0;
};

TEST_F(Cooling, WaitsUntilTheDeviceIsCool) {
  ConditionsWatch watch = Watch(45);
  const auto conditions = watch.BeforeRound(0, 0, 0);
  ASSERT_TRUE(conditions);
  EXPECT_EQ(conditions->waited_seconds, 5);
  EXPECT_EQ(conditions->vitals.cpu_celsius, 45.0);
  EXPECT_FALSE(conditions->hot);
  ASSERT_EQ(progress_.waits.size(), 5U);
  EXPECT_EQ(progress_.waits[0], "waiting for the device to cool: 50.0 °C > 45 °C (0 s in total)");
  EXPECT_EQ(progress_.waits[4], "waiting for the device to cool: 46.0 °C > 45 °C (4 s in total)");
  EXPECT_EQ(watch.BeforeRound(0, 1, 0)->waited_seconds, 0);
  EXPECT_EQ(watch.waited_seconds(), 5);
  EXPECT_TRUE(watch.warnings().empty());
}

TEST_F(Cooling, OnlyReadsWithoutALimit) {
  ConditionsWatch watch = Watch(std::nullopt);
  EXPECT_EQ(watch.BeforeRound(0, 0, 0)->waited_seconds, 0);
  EXPECT_FALSE(watch.BeforeRound(0, 1, 0)->hot);
  watch.BeforeRound(1, 0, 0);
  EXPECT_EQ(readings_, 3);
  EXPECT_EQ(full_readings_, 2);  // once per launch
}

TEST_F(Cooling, GivesUpAfterTheWaitingTime) {
  coldest_ = 47.14;
  ConditionsWatch watch = Watch(45);
  const auto first = watch.BeforeRound(0, 0, 0);
  EXPECT_EQ(first->waited_seconds, 20);
  EXPECT_TRUE(first->hot);
  ASSERT_EQ(watch.warnings().size(), 1U);
  EXPECT_NE(watch.warnings()[0].find("does not stay cool: 47.1 °C > 45 °C after waiting 20 s, 20 s in total"),
            std::string::npos);
  const auto second = watch.BeforeRound(0, 1, 0);  // the watch has given up and does not wait again
  EXPECT_TRUE(second->hot && second->waited_seconds == 0);
  EXPECT_EQ(watch.warnings().size(), 1U);
}

TEST_F(Cooling, WaitsAtMostSixTimesTheLimitOfARoundInTotal) {
  ConditionsWatch watch = Watch(45);
  for (int round = 0; round < 20; ++round) {
    celsius_ = 60;  // waits 15 s, less than a round's limit of 20 s
    watch.BeforeRound(0, round, 0);
  }
  EXPECT_EQ(watch.waited_seconds(), 120);
  ASSERT_EQ(watch.warnings().size(), 1U);
  EXPECT_NE(watch.warnings()[0].find("after waiting 0 s, 120 s in total"), std::string::npos);
}

TEST_F(Cooling, ComparesTheSkinIfItHasASensor) {
  celsius_ = 80;
  skin_celsius_ = 40;
  EXPECT_EQ(Watch(45).BeforeRound(0, 0, 0)->waited_seconds, 0);
  status_ = 1;  // Android's limits do not count
  EXPECT_EQ(Watch(45).BeforeRound(0, 0, 0)->waited_seconds, 0);
  skin_celsius_ = 46;
  EXPECT_EQ(Watch(45).BeforeRound(0, 0, 0)->waited_seconds, 20);
}

TEST_F(Cooling, WithoutASkinSensorWaitsForAndroidsThermalStatus) {
  celsius_ = 30;
  status_ = 1;
  status_ends_ = now_ + 7;
  ConditionsWatch watch = Watch(45);
  const auto conditions = watch.BeforeRound(0, 0, 0);
  EXPECT_EQ(conditions->waited_seconds, 7);
  EXPECT_FALSE(conditions->hot);
  EXPECT_EQ(progress_.waits[0], "waiting for the device to cool: thermal status light (0 s in total)");
}

TEST_F(Cooling, WithoutASensorItWarnsOnceAndDoesNotWait) {
  celsius_.reset();
  ConditionsWatch watch = Watch(45);
  for (int round = 0; round < 3; ++round) EXPECT_FALSE(watch.BeforeRound(0, round, 0)->hot);
  EXPECT_EQ(now_, 100);
  EXPECT_EQ(watch.warnings().size(), 1U);
  EXPECT_EQ(progress_.messages.size(), 1U);
}

TEST_F(Cooling, ReadsATemperatureThatOnlyServicesReport) {
  only_services_report_ = true;
  ConditionsWatch watch = Watch(45);
  EXPECT_EQ(watch.BeforeRound(0, 0, 0)->waited_seconds, 5);
  celsius_ = 46;
  EXPECT_EQ(watch.BeforeRound(0, 1, 0)->waited_seconds, 1);
}

TEST_F(Cooling, EndsOnInterruptionAndConnectionLoss) {
  ConditionsWatch watch = Watch(45);
  interrupted_ = true;
  EXPECT_EQ(watch.BeforeRound(0, 0, 0)->waited_seconds, 0);
  lost_ = true;
  EXPECT_FALSE(watch.BeforeRound(0, 1, 0));
}

TEST_F(Cooling, ReportsCapsOfUsedCpusOnly) {
  clocks_ = {Clock({0, 1}, 1'000'000, 2'000'000), Clock({2, 3}, 3'000'000, 3'000'000)};
  EXPECT_TRUE(Watch({}).BeforeRound(0, 0, 0)->capped);
  EXPECT_TRUE(Watch({}, {1, 2}).BeforeRound(0, 0, 0)->capped);
  EXPECT_FALSE(Watch({}, {2}).BeforeRound(0, 0, 0)->capped);
}

TEST_F(Cooling, KeepsAndroidsStatusForTheLaunch) {
  status_ = 2;
  ConditionsWatch watch = Watch({});
  EXPECT_TRUE(watch.BeforeRound(0, 0, 0)->hot);
  status_ = 0;
  EXPECT_TRUE(watch.BeforeRound(0, 1, 0)->hot);
  EXPECT_FALSE(watch.BeforeRound(1, 0, 0)->hot);
}

RunData MakeRun(int launches, int rounds) {
  RunData run;
  run.device.emplace();
  run.device->cpus.emplace_back();
  run.device->cpus[0].id = 3;
  run.device->cpus[0].hardware_max_khz = 3'000'000;
  ExperimentData data;
  for (int l = 0; l < launches; ++l) {
    Launch launch;
    launch.index = l;
    for (int r = 0; r < rounds; ++r) {
      Burst burst;
      burst.round = r;
      launch.bursts.push_back(burst);
      RoundConditions conditions;
      conditions.launch = l;
      conditions.round = r;
      run.conditions.push_back(conditions);
    }
    data.launches.push_back(launch);
  }
  run.experiments = {data, data};
  return run;
}

TEST(ConditionsWarnings, AreEmptyForANormalRun) { EXPECT_TRUE(ConditionsWarnings(MakeRun(2, 4)).empty()); }

TEST(ConditionsWarnings, CountRoundsNotBursts) {
  RunData run = MakeRun(2, 4);
  run.conditions[2].capped = true;
  run.conditions[2].vitals.clocks = {Clock({4, 5, 6}, 1'800'000, 3'250'000)};
  // In a round of the other launch, workers of both experiments reported a cap.
  for (ExperimentData& data : run.experiments) {
    data.launches[1].bursts[1].cpu_end = 3;
    data.launches[1].bursts[1].frequency_cap_khz = 2'900'000;
    data.launches[1].bursts[2].cpu_end = 3;
    // Equals the hardware's maximum, so it is not a cap.
    data.launches[1].bursts[2].frequency_cap_khz = 3'000'000;
  }
  RoundConditions unused;  // of a round without bursts
  unused.launch = 9;
  unused.capped = unused.hot = true;
  run.conditions.push_back(unused);
  EXPECT_EQ(ConditionsWarnings(run),
            std::vector<std::string>{"2 of 8 rounds ran with capped clocks (CPU 4-6 at 1.80 of 3.25 GHz)"});
}

TEST(ConditionsWarnings, ReportHotRoundsAndWaiting) {
  RunData run = MakeRun(1, 3);
  run.conditions[0].hot = true;
  run.conditions[0].vitals.skin_celsius = 47.12;
  run.conditions[1].hot = true;
  run.conditions[1].vitals.thermal_status = 2;
  run.schedule.waited_seconds = 61.7;
  EXPECT_EQ(ConditionsWarnings(run),
            (std::vector<std::string>{"2 of 3 rounds ran hot (up to 47.1 °C, thermal status moderate)",
                                      "62 s were waited for the device to cool"}));
}

// A reading between those of all vitals may lack the status that was read before it.
TEST(ConditionsWarnings, ReportHotRoundsWithoutTemperatures) {
  RunData run = MakeRun(1, 3);
  run.conditions[1].hot = true;
  EXPECT_EQ(ConditionsWarnings(run), std::vector<std::string>{"1 of 3 rounds ran hot"});
}

TEST(ConditionsJson, RoundTrips) {
  RoundConditions conditions;
  conditions.launch = 2;
  conditions.round = 5;
  conditions.order = 1;
  conditions.waited_seconds = 3.5;
  conditions.capped = conditions.hot = true;
  conditions.vitals.cpu_celsius = 44.5;
  conditions.vitals.thermal_status = 1;
  conditions.vitals.battery_status = "Charging";
  conditions.vitals.clocks = {Clock({0, 1}, 1, 2)};
  conditions.vitals.cooling = {{"cpufreq-cpu0", 1, 10, true}};
  const nlohmann::json json = conditions;
  EXPECT_EQ(nlohmann::json(json.get<RoundConditions>()), json);
  PowerMode mode = {
      "app-developer", false, {{"low_power", "0", "1"}, {"animator_duration_scale", "1", "null"}}};
  const nlohmann::json mode_json = mode;
  EXPECT_TRUE(mode_json["settings"][1]["before"].is_null());
  EXPECT_EQ(nlohmann::json(mode_json.get<PowerMode>()), mode_json);
}

}  // namespace
}  // namespace etprof
