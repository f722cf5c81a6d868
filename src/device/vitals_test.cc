#include "device/vitals.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(Vitals, TheHottestOfAKind) {
  const DeviceVitals vitals = ParseVitals(
      "zone\tLITTLE\t41000\nzone\tcpu-1-0-usr\t62500\nzone\tBIG\t58000\n"
      "zone\tgpu\t90000\nzone\tbattery\t99000\nzone\tVIRTUAL-SKIN\t33100\nzone\tskin-therm\t31000\n"
      "supply\tCharging\t85\n");
  EXPECT_EQ(vitals.cpu_celsius, 62.5);
  EXPECT_EQ(vitals.skin_celsius, 33.1);
  EXPECT_EQ(vitals.battery_percent, 85);
  EXPECT_EQ(vitals.battery_status, "Charging");
}

TEST(Vitals, SensorsThatAreOffAreNotCold) {
  const DeviceVitals vitals = ParseVitals(
      "zone\tcpu-0\t-40000\nzone\tcpu-1\t0\nzone\tcpu-2\t-274000\nzone\tcpu-3\t\nzone\tskin\tcold\n"
      "supply\t\t\n");
  EXPECT_FALSE(vitals.cpu_celsius.has_value());
  EXPECT_FALSE(vitals.skin_celsius.has_value());
  EXPECT_FALSE(vitals.battery_percent.has_value());
}

// What dumpsys of Android 15 prints, shortened.
constexpr const char* kAndroid =
    "android-battery\nCurrent Battery Service state:\n  AC powered: false\n  status: 3\n  health: 2\n"
    "  level: 47\n  scale: 100\n"
    "android-thermal\nThermal Status: 0\nCached temperatures:\n"
    "\tTemperature{mValue=71.0, mType=0, mName=BIG, mStatus=0}\n"
    "Current temperatures from HAL:\n"
    "\tTemperature{mValue=38.5, mType=0, mName=BIG, mStatus=0}\n"
    "\tTemperature{mValue=44.0, mType=2, mName=battery, mStatus=0}\n"
    "\tTemperature{mValue=31.2, mType=3, mName=VIRTUAL-SKIN, mStatus=0}\n"
    "Current cooling devices from HAL:\n\tCoolingDevice{mValue=0, mType=2, mName=a}\n";

TEST(Vitals, AndroidsOwnViewWhereSysfsIsShut) {
  const DeviceVitals vitals = ParseVitals(kAndroid);
  EXPECT_EQ(vitals.cpu_celsius, 38.5);
  EXPECT_EQ(vitals.skin_celsius, 31.2);
  EXPECT_EQ(vitals.battery_percent, 47);
  EXPECT_EQ(vitals.battery_status, "Discharging");
}

TEST(Vitals, SysfsGoesBeforeAndroidsView) {
  const DeviceVitals vitals = ParseVitals(fmt::format("zone\tBIG\t52000\nsupply\tFull\t100\n{}", kAndroid));
  EXPECT_EQ(vitals.cpu_celsius, 52.0);
  EXPECT_EQ(vitals.skin_celsius, 31.2);
  EXPECT_EQ(vitals.battery_percent, 100);
  EXPECT_EQ(vitals.battery_status, "Full");
}

TEST(Vitals, OfNothingNothingIsKnown) {
  const DeviceVitals vitals = ParseVitals("");
  EXPECT_FALSE(vitals.cpu_celsius.has_value());
  EXPECT_FALSE(vitals.battery_percent.has_value());
  EXPECT_EQ(vitals.battery_status, "");
}

}  // namespace
}  // namespace etprof
