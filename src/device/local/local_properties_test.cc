#include "device/local/local_properties.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

class LocalProperties : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root);
    std::filesystem::create_directories(root);
  }
  void Write(const std::string& path, const std::string& text) { WriteFileAtomically(root / path, text); }
  void TearDown() override { std::filesystem::remove_all(root); }
  // Tests run concurrently, so the name has the PID.
  const std::filesystem::path root =
      std::filesystem::path(testing::TempDir()) / ("etprof_properties_" + std::to_string(::getpid()));
};

#ifdef __linux__
TEST_F(LocalProperties, ReadsPhone) {
  Write("proc/cpuinfo",
        "processor\t: 0\nFeatures\t: fp asimd sme sme2\nCPU implementer\t: 0x41\nCPU part\t: 0xd82\n");
  Write("proc/meminfo", "MemTotal:  8000 kB\nMemFree: 1 kB\nMemAvailable:   4000 kB\n");
  Write("etc/os-release", "NAME=X\nPRETTY_NAME=\"Some Linux 1\"\n");
  Write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n");
  Write("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3200000\n");
  Write("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "3200000\n");
  Write("sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "2000000\n");
  Write("sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq", "1500000\n");
  const DeviceProperties properties = ReadLocalProperties(root);
  EXPECT_EQ(properties.cpu_model, "Cortex-X4");
  EXPECT_THAT(properties.features, testing::ElementsAre("fp", "asimd", "sme", "sme2"));
  EXPECT_EQ(properties.cores, 2);
  EXPECT_EQ(properties.topology, "1 x 3200 MHz, 1 x 2000 MHz");
  EXPECT_EQ(properties.memory_available, 4000 * 1024);
  EXPECT_EQ(properties.os, "Some Linux 1");
  EXPECT_EQ(properties.virtualization, "");
  ExpectGolden("device/local_device_warnings", properties.warnings);
}

TEST_F(LocalProperties, NamesEachCpu) {
  Write("proc/cpuinfo",
        "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd80\n\n"
        "processor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd8c\n\n"
        ": no key\nprocessor : many\nCPU part : \n");
  for (const char* cpu : {"cpu0", "cpu1", "cpu2"})
    Write(std::string("sys/devices/system/cpu/") + cpu + "/cpu_capacity", "1024\n");
  const DeviceProperties properties = ReadLocalProperties(root);
  ASSERT_EQ(properties.cpus.size(), 3U);
  EXPECT_EQ(properties.cpus[0].model, "Cortex-A520");
  EXPECT_EQ(properties.cpus[1].model, "");
  EXPECT_EQ(properties.cpus[2].model, "C1-Ultra");
}

TEST_F(LocalProperties, ToleratesMissingFiles) {
  const DeviceProperties properties = ReadLocalProperties(root);
  EXPECT_EQ(properties.cpu_model, "");
  EXPECT_EQ(properties.cores, 0);
  EXPECT_FALSE(properties.memory_total.has_value());
  EXPECT_FALSE(ReadAvailableMemory(root).has_value());
}

TEST_F(LocalProperties, RejectsImplausibleMemorySizes) {
  for (const char* amount : {"9223372036854775807 kB", "-1 kB", "99999999999999999999 kB", "kB"}) {
    Write("proc/meminfo", std::string("MemTotal: ") + amount + "\nMemAvailable: " + amount + "\n");
    EXPECT_FALSE(ReadLocalProperties(root).memory_total.has_value()) << amount;
  }
}
#endif

TEST(ThisMachine, HasCpusAndKernel) {
  const DeviceProperties properties = ReadLocalProperties();
  EXPECT_GT(properties.cores, 0);
  EXPECT_FALSE(properties.kernel.empty());
  EXPECT_FALSE(properties.platform.empty());
}

}  // namespace
}  // namespace etprof
