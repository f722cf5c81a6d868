#include "device/remote/remote_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/golden_testing.h"
#include "device/local/local_properties.h"
#include "device/tool.h"

namespace etprof {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(RemoteProperties, ScriptMatchesLocalPropertiesOfThisMachine) {
  const ToolResult result = RunTool({"sh", "-c", PropertiesScript()});
  ASSERT_TRUE(result.Success()) << result.errors;
  const DeviceProperties remote = ParseProperties(result.output, "ssh:here");
  const DeviceProperties local = ReadLocalProperties();
  EXPECT_EQ(remote.name, "ssh:here");
  EXPECT_EQ(remote.platform, local.platform);
  EXPECT_EQ(remote.architecture, local.architecture);
  EXPECT_EQ(remote.cpu_model, local.cpu_model);
  EXPECT_EQ(remote.features, local.features);
  EXPECT_EQ(remote.cores, local.cores);
  EXPECT_EQ(remote.memory_total, local.memory_total);
  EXPECT_EQ(remote.os, local.os);
  EXPECT_EQ(remote.kernel, local.kernel);
}

TEST(RemoteProperties, ParsesPhone) {
  const DeviceProperties phone = ParseProperties(
      "\001uname-s\nLinux\n\001uname-r\n6.1.99-android14\n\001uname-m\naarch64\n"
      "\001/proc/cpuinfo\nprocessor\t: 0\nFeatures\t: fp asimd i8mm sme sme2\n\n"
      "\001/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq\n1950000\n\n"
      "\001/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq\n1200000\n\n"
      "\001/sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq\n3100000\n\n"
      "\001ro.product.manufacturer\nGoogle\n\001ro.product.model\nPixel 9\n"
      "\001ro.build.version.release\n15\n\001ro.soc.manufacturer\nGoogle\n\001ro.soc.model\nTensor G4\n",
      "adb:1");
  EXPECT_EQ(phone.platform, "android");
  EXPECT_EQ(phone.os, "Android 15, Google Pixel 9");
  EXPECT_EQ(phone.cpu_model, "Google Tensor G4");
  EXPECT_THAT(phone.features, Contains("sme2"));
  EXPECT_EQ(phone.cores, 2);
  EXPECT_EQ(phone.topology, "1 x 3100 MHz, 1 x 1950 MHz");
  ExpectGolden("device/remote_device_warnings", phone.warnings);
}

TEST(RemoteProperties, ParsesMac) {
  const DeviceProperties mac = ParseProperties(
      "\001uname-s\nDarwin\n\001uname-r\n24.1.0\n\001uname-m\narm64\n"
      "\001machdep.cpu.brand_string\nApple M4\n\001hw.logicalcpu\n10\n\001hw.memsize\n17179869184\n"
      "\001kern.osproductversion\n15.1\n\001hw.optional.arm.FEAT_SME\n1\n\001hw.optional.arm.FEAT_SME2\n1\n"
      "\001hw.optional.arm.FEAT_BF16\n0\n",
      "ssh:mac");
  EXPECT_EQ(mac.platform, "mac");
  EXPECT_EQ(mac.architecture, "aarch64");
  EXPECT_EQ(mac.cores, 10);
  EXPECT_EQ(mac.os, "macOS 15.1");
  EXPECT_THAT(mac.features, testing::ElementsAre("SME", "SME2"));
  EXPECT_EQ(mac.topology, "");
  EXPECT_THAT(mac.warnings, testing::IsEmpty());
}

TEST(RemoteProperties, ParsesEveryMacKey) {
  std::string output = "\001uname-s\nDarwin\n\001uname-m\narm64\n";
  for (const MacKey& key : kMacKeys) {
    EXPECT_THAT(PropertiesScript(), HasSubstr(std::string(" ") + key.name));
    output += std::string("\001") + key.name + (key.is_text ? "\nan M4\n" : "\n1\n");
  }
  const DeviceProperties mac = ParseProperties(output, "ssh:mac");
  EXPECT_EQ(mac.cpu_model, "an M4");
  EXPECT_EQ(mac.topology, "1 performance, 1 efficiency cores");
  EXPECT_EQ(mac.features.size(), 6U);
  EXPECT_EQ(mac.virtualization, "virtual machine");
  EXPECT_THAT(mac.warnings,
              testing::ElementsAre("running in a virtual machine: other guests can disturb timings"));
}

TEST(RemoteProperties, WritesNoFileOutsideTheTemporaryRoot) {
  const DeviceProperties properties = ParseProperties(
      "\001uname-s\nLinux\n\001uname-m\nx86_64\n\001/../../tmp/etprof_escaped\nx\n\001/etc/../../x\ny\n",
      "a");
  EXPECT_EQ(properties.platform, "linux-x86_64");
  EXPECT_FALSE(std::filesystem::exists("/tmp/etprof_escaped"));
}

TEST(RemoteProperties, RejectsOutputWithoutUname) {
  for (const char* text : {"", "hello", "\001", "\001uname-s"})
    EXPECT_THROW(ParseProperties(text, "ssh:x"), Error);
}

}  // namespace
}  // namespace etprof
