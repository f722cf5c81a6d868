#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "device/conditions/vitals.h"
#include "device/local/local.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// A fake of a phone's /sys, which the shell of this machine reads.
class VitalsReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fmt::format("etprof-conditions-{}", ::getpid());
    fs::remove_all(root_);
    Write("class/thermal/thermal_zone0/type", "BIG");
    Write("class/thermal/thermal_zone0/temp", "52500");
    Write("class/thermal/thermal_zone1/type", "modem");
    Write("class/thermal/thermal_zone1/temp", "90000");
    Write("class/thermal/cooling_device0/type", "cpufreq-cpu4");
    Write("class/thermal/cooling_device0/cur_state", "0");
    Write("class/thermal/cooling_device0/max_state", "12");
    Write("class/thermal/cooling_device1/type", "panel0-backlight");
    Write("class/thermal/cooling_device1/cur_state", "0");
    for (const int first : {0, 4}) {
      const std::string policy = fmt::format("devices/system/cpu/cpufreq/policy{}/", first);
      Write(policy + "related_cpus", first == 0 ? "0 1 2 3" : "4 5");
      Write(policy + "scaling_cur_freq", "600000");
      Write(policy + "scaling_max_freq", "3250000");
      Write(policy + "cpuinfo_max_freq", "3250000");
    }
    Write("class/power_supply/battery/type", "Battery");
    Write("class/power_supply/battery/status", "Discharging");
    Write("class/power_supply/battery/capacity", "63");
    Write("class/power_supply/battery/temp", "315");
    ::setenv("ETPROF_SYSFS_ROOT", root_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("ETPROF_SYSFS_ROOT");
    fs::remove_all(root_);
  }
  void Write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / "sys" / file).parent_path());
    std::ofstream(root_ / "sys" / file) << text << '\n';
  }

  fs::path root_;
  std::unique_ptr<Device> device_ = MakeLocalDevice();
};

TEST_F(VitalsReaderTest, ReadsRepeatedlyThroughOneShell) {
  VitalsReader reader(*device_);
  const auto first = reader.Read(false);  // the first reading reads all sources
  ASSERT_TRUE(first);
  EXPECT_EQ(first->cpu_celsius, 52.5);
  EXPECT_EQ(first->battery_percent, 63);
  EXPECT_EQ(first->battery_celsius, 31.5);
  EXPECT_EQ(first->sources, "z0 c0 ");
  ASSERT_EQ(first->clocks.size(), 1U);  // the two policies have equal values
  EXPECT_EQ(first->clocks[0].cpus, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_FALSE(first->clocks[0].IsCapped());
  ASSERT_EQ(first->cooling.size(), 1U);

  Write("devices/system/cpu/cpufreq/policy4/scaling_max_freq", "1800000");
  Write("class/thermal/thermal_zone0/temp", "71000");
  Write("class/thermal/thermal_zone1/type", "skin");  // only a reading of all sources finds this zone
  Write("class/thermal/cooling_device0/cur_state", "7");
  const auto second = reader.Read(false);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->HottestCelsius(), 71.0);
  ASSERT_EQ(second->clocks.size(), 2U);
  EXPECT_TRUE(second->clocks[1].IsCapped());
  EXPECT_EQ(second->clocks[1].cpus, (std::vector<int>{4, 5}));
  EXPECT_EQ(second->clocks[1].khz, 600'000);
  ASSERT_EQ(second->cooling.size(), 1U);
  EXPECT_EQ(second->cooling[0].type, "cpufreq-cpu4");
  EXPECT_EQ(second->cooling[0].state, 7);
  EXPECT_EQ(second->cooling[0].highest_state, 12);
  EXPECT_FALSE(second->skin_celsius);
  EXPECT_EQ(reader.Read(true)->skin_celsius, 90.0);
}

TEST_F(VitalsReaderTest, StartsAShellPerReading) {
  VitalsReader reader(*device_, false);
  EXPECT_EQ(reader.Read(false)->HottestCelsius(), 52.5);
  Write("class/thermal/thermal_zone1/type", "skin");
  EXPECT_EQ(reader.Read(false)->HottestCelsius(), 52.5);
  EXPECT_EQ(reader.Read(true)->HottestCelsius(), 90.0);
}

TEST_F(VitalsReaderTest, ToleratesMissingFiles) {
  fs::remove_all(root_ / "sys");
  VitalsReader reader(*device_);
  const auto vitals = reader.Read(true);
  ASSERT_TRUE(vitals);
  EXPECT_FALSE(vitals->HottestCelsius());
  EXPECT_TRUE(vitals->clocks.empty());
  EXPECT_TRUE(reader.Read(false));
}

}  // namespace
}  // namespace etprof
