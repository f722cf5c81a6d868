#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/golden_testing.h"
#include "measure/conditions/conditions.h"

namespace etprof {
namespace {

using ::testing::ElementsAre;

OtherLoad MakeLoad(double cores) {
  OtherLoad load;
  load.seconds = 0.25;
  load.cores = 2;
  load.machine_cores = load.process_cores = cores;
  load.processes = {{"cc1plus", 1, cores}};
  return load;
}

// A fake device with a given state for each second. The last state lasts.
class QuietTest : public ::testing::Test, public Progress {
 protected:
  struct SimulatedSecond {
    std::optional<OtherLoad> load;
    std::optional<DeviceVitals> vitals;
  };
  QuietResult Wait(double minutes, std::optional<double> limit = {}) {
    return WaitUntilQuiet({.wait_seconds = 60 * minutes,
                           .threads = 1,
                           .max_celsius = limit,
                           .load = [this] { return Now().load; },
                           .vitals =
                               [this] {
                                 ++vitals_readings_;
                                 return Now().vitals;
                               },
                           .now = [this] { return now_; },
                           .sleep =
                               [this](double seconds) {
                                 now_ += seconds;
                                 if (now_ >= interrupted_at_) interrupted_ = true;
                               },
                           .interrupted = [this] { return interrupted_; },
                           .progress = this});
  }
  const SimulatedSecond& Now() const {
    return seconds_[std::min(static_cast<std::size_t>(now_), seconds_.size() - 1)];
  }
  void Update(const ProgressUpdate&) override {}
  void Message(const std::string&) override {}
  void Waiting(const std::string& text) override { waits_.push_back(text); }

  std::vector<SimulatedSecond> seconds_;
  std::vector<std::string> waits_;
  double now_ = 0, interrupted_at_ = 1e9;
  bool interrupted_ = false;
  int vitals_readings_ = 0;
};

TEST_F(QuietTest, ReadsOnceWithoutWaitingTime) {
  seconds_ = {{MakeLoad(1.9), {}}};
  const QuietResult quiet = Wait(0);
  EXPECT_EQ(quiet.load->CoresUsed(), 1.9);
  EXPECT_EQ(quiet.waited_seconds, 0);
  EXPECT_EQ(quiet.warning, "");
  EXPECT_EQ(vitals_readings_, 0);
}

TEST_F(QuietTest, DoesNotWaitForAQuietDevice) {
  seconds_ = {{MakeLoad(0.05), DeviceVitals()}};
  EXPECT_EQ(Wait(10).waited_seconds, 0);
  EXPECT_EQ(now_, 0);
  EXPECT_THAT(waits_, ElementsAre());
}

TEST_F(QuietTest, OutlastsPausesOfABuild) {
  const SimulatedSecond busy{MakeLoad(1.9), {}}, idle{MakeLoad(0.01), {}};
  seconds_ = {busy, busy, idle, idle, busy, idle};
  const QuietResult quiet = Wait(10);
  EXPECT_EQ(quiet.waited_seconds, 7);  // quiet from the sixth second on, for three readings
  EXPECT_EQ(quiet.warning, "");
  EXPECT_LT(quiet.load->CoresUsed(), 0.1);
  ExpectGolden("measure/conditions/waiting_for_quiet", waits_);
}

TEST_F(QuietTest, WaitsForAHotDevice) {
  DeviceVitals slowed, warm, cool;
  slowed.thermal_status = 3;
  slowed.cooling = {{"fan", 2, 3, false}, {"cpufreq-cpu4", 2, 10, true}};
  slowed.cpu_celsius = 80;
  warm.cpu_celsius = 46;
  cool.cpu_celsius = 45;
  seconds_ = {{{}, slowed}, {{}, warm}, {{}, cool}};
  EXPECT_EQ(Wait(10, 45).waited_seconds, 4);
  ExpectGolden("measure/conditions/waiting_for_cooling", waits_);
  // Without a limit, only throttling counts.
  now_ = 0;
  EXPECT_EQ(Wait(10).waited_seconds, 3);
}

TEST_F(QuietTest, IgnoresClockLimitsWithoutHeat) {
  DeviceVitals capped;
  capped.clocks = {{{0, 1}, 1'800'000, 1'800'000, 3'250'000}};
  seconds_ = {{{}, capped}};
  EXPECT_EQ(Wait(10).waited_seconds, 0);
}

TEST_F(QuietTest, WarnsIfTheDeviceStaysBusy) {
  seconds_ = {{MakeLoad(1.9), {}}};
  const QuietResult quiet = Wait(2);
  EXPECT_EQ(quiet.waited_seconds, 120);
  ExpectGolden("measure/conditions/busy_device", quiet.warning + "\n");
  EXPECT_EQ(quiet.load->CoresUsed(), 1.9);  // recorded as the load before the measurement
}

TEST_F(QuietTest, DoesNotWaitForUnreadableVitals) {
  seconds_ = {{MakeLoad(1.9), {}}, {{}, {}}};
  EXPECT_EQ(Wait(10).waited_seconds, 3);
}

TEST_F(QuietTest, EndsOnInterruption) {
  seconds_ = {{MakeLoad(1.9), {}}};
  interrupted_at_ = 5;
  EXPECT_EQ(Wait(10).waited_seconds, 5);
}

}  // namespace
}  // namespace etprof
