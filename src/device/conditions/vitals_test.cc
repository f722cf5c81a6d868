#include "device/conditions/vitals.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(Vitals, KeepsTheHottestSensorOfEachKind) {
  const DeviceVitals vitals = ParseVitals(
      "zone\tLITTLE\t41000\nzone\tcpu-1-0-usr\t62500\nzone\tBIG\t58000\n"
      "zone\tgpu\t90000\nzone\tbattery\t99000\nzone\tVIRTUAL-SKIN\t33100\nzone\tskin-therm\t31000\n"
      "supply\tCharging\t85\n");
  EXPECT_EQ(vitals.cpu_celsius, 62.5);
  EXPECT_EQ(vitals.skin_celsius, 33.1);
  EXPECT_EQ(vitals.battery_percent, 85);
  EXPECT_EQ(vitals.battery_status, "Charging");
}

TEST(Vitals, IgnoresDisabledSensors) {
  const DeviceVitals vitals = ParseVitals(
      "zone\tcpu-0\t-40000\nzone\tcpu-1\t0\nzone\tcpu-2\t-274000\nzone\tcpu-3\t\nzone\tskin\tcold\n"
      "supply\t\t\n");
  EXPECT_FALSE(vitals.cpu_celsius.has_value());
  EXPECT_FALSE(vitals.skin_celsius.has_value());
  EXPECT_FALSE(vitals.battery_percent.has_value());
}

TEST(Vitals, IgnoresSensorsWithoutAValue) {
  const DeviceVitals vitals = ParseVitals(
      "zone\tskin\tnan\nsupply\tFull\t90\tinf\n"
      "android-thermal\nCurrent temperatures from HAL:\n"
      "\tTemperature{mValue=NaN, mType=0, mName=LITTLE, mStatus=0}\n"
      "\tTemperature{mValue=38.5, mType=0, mName=BIG, mStatus=0}\n"
      "\tTemperature{mValue=NaN, mType=3, mName=VIRTUAL-SKIN, mStatus=0}\n");
  EXPECT_EQ(vitals.cpu_celsius, 38.5);
  EXPECT_FALSE(vitals.skin_celsius.has_value());
  EXPECT_FALSE(vitals.battery_celsius.has_value());
}

// Shortened output of Android 15's dumpsys.
constexpr const char* kAndroidOutput =
    "android-battery\nCurrent Battery Service state:\n  AC powered: false\n  status: 3\n  health: 2\n"
    "  level: 47\n  scale: 100\n"
    "android-thermal\nThermal Status: 0\nCached temperatures:\n"
    "\tTemperature{mValue=71.0, mType=0, mName=BIG, mStatus=0}\n"
    "Current temperatures from HAL:\n"
    "\tTemperature{mValue=38.5, mType=0, mName=BIG, mStatus=0}\n"
    "\tTemperature{mValue=44.0, mType=2, mName=battery, mStatus=0}\n"
    "\tTemperature{mValue=31.2, mType=3, mName=VIRTUAL-SKIN, mStatus=0}\n"
    "Current cooling devices from HAL:\n\tCoolingDevice{mValue=0, mType=2, mName=a}\n";

TEST(Vitals, UsesAndroidServicesWithoutSysfs) {
  const DeviceVitals vitals = ParseVitals(kAndroidOutput);
  EXPECT_EQ(vitals.cpu_celsius, 38.5);
  EXPECT_EQ(vitals.skin_celsius, 31.2);
  EXPECT_EQ(vitals.battery_percent, 47);
  EXPECT_EQ(vitals.battery_status, "Discharging");
}

TEST(Vitals, PrefersSysfsToAndroidServices) {
  const DeviceVitals vitals =
      ParseVitals(fmt::format("zone\tBIG\t52000\nsupply\tFull\t100\n{}", kAndroidOutput));
  EXPECT_EQ(vitals.cpu_celsius, 52.0);
  EXPECT_EQ(vitals.skin_celsius, 31.2);
  EXPECT_EQ(vitals.battery_percent, 100);
  EXPECT_EQ(vitals.battery_status, "Full");
}

TEST(Vitals, ParsesThermalStatus) {
  EXPECT_EQ(ParseVitals(kAndroidOutput).thermal_status, 0);
  EXPECT_EQ(ParseVitals("android-thermal\nThermal Status: 3\n").thermal_status, 3);
  EXPECT_FALSE(ParseVitals("android-thermal\nThermal Status: hot\n").thermal_status.has_value());
  EXPECT_EQ(ThermalStatusName(3), "severe");
  EXPECT_EQ(ThermalStatusName(9), "9");
}

TEST(Vitals, KeepsCpuCoolingAndActiveDevices) {
  const DeviceVitals vitals = ParseVitals(
      "cooling\tthermal-cpufreq-0\t0\t10\t0\ncooling\tProcessor\t3\t10\t1\ncooling\tpanel0-"
      "backlight\t0\t9\t2\n"
      "cooling\tpwm-fan\t2\t4\t3\ncooling\tintel_powerclamp\t-1\t50\t4\ncooling\n");
  ASSERT_EQ(vitals.cooling.size(), 3U);
  EXPECT_TRUE(vitals.cooling[0].cools_cpu && vitals.cooling[1].cools_cpu);
  EXPECT_EQ(vitals.cooling[1].state, 3);
  EXPECT_EQ(vitals.cooling[2].type, "pwm-fan");
  EXPECT_FALSE(vitals.cooling[2].cools_cpu);
  EXPECT_EQ(vitals.sources, "c0 c1 c3 ");
}

TEST(Vitals, ToleratesIncompleteClocks) {
  const DeviceVitals vitals =
      ParseVitals("clock\t0 1\t\t2000000\t\nclock\tx -1 5000\t1e30\t-\t3000000\nclock\n");
  ASSERT_EQ(vitals.clocks.size(), 2U);
  for (const DeviceVitals::Clock& clock : vitals.clocks) EXPECT_FALSE(clock.IsCapped());
  EXPECT_EQ(vitals.clocks[0].cpus, (std::vector<int>{0, 1}));
  EXPECT_TRUE(vitals.clocks[1].cpus.empty());
  EXPECT_FALSE(vitals.clocks[1].khz.has_value());
}

TEST(Vitals, AreUnknownWithoutOutput) {
  const DeviceVitals vitals = ParseVitals("");
  EXPECT_FALSE(vitals.cpu_celsius.has_value());
  EXPECT_FALSE(vitals.battery_percent.has_value());
  EXPECT_EQ(vitals.battery_status, "");
}

}  // namespace
}  // namespace etprof
