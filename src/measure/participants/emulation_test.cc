#include "measure/participants/emulation.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace etprof {
namespace {

class Emulation : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("etprof_emulation_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    device_.platform = "linux-x86_64";
    device_.architecture = "x86_64";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // An experiment whose runner is the header of an ELF file for a machine (System V ABI, e_machine).
  ExperimentConfig Experiment(char machine, std::vector<std::string> wrapper = {}) const {
    ExperimentConfig experiment;
    std::array<char, 20> header = {'\177', 'E', 'L', 'F'};
    header[18] = machine;
    experiment.runner = folder_ / (machine == kArm ? "runner_arm" : "runner_x86");
    std::ofstream(experiment.runner, std::ios::binary).write(header.data(), header.size());
    experiment.exec_wrapper = std::move(wrapper);
    return experiment;
  }

  static constexpr char kX86 = '\x3e', kArm = '\xb7';
  std::filesystem::path folder_;
  DeviceProperties device_;
};

TEST_F(Emulation, IsDetectedByWrapperAndByArchitecture) {
  EXPECT_FALSE(IsEmulated(Experiment(kX86), device_));
  EXPECT_FALSE(IsEmulated(Experiment(kX86, {"numactl", "-N", "0"}), device_));
  EXPECT_TRUE(IsEmulated(Experiment(kX86, {"/tools/qemu-x86_64"}), device_));
  EXPECT_TRUE(IsEmulated(Experiment(kArm, {"nice", "/tools/qemu-aarch64", "-cpu", "max"}), device_));
  EXPECT_TRUE(IsEmulated(Experiment(kArm), device_));  // the system starts the emulator
  device_.architecture = "aarch64";
  EXPECT_FALSE(IsEmulated(Experiment(kArm), device_));
  device_.architecture.clear();  // the device's architecture is not known
  EXPECT_FALSE(IsEmulated(Experiment(kArm), device_));
}

TEST_F(Emulation, NamesThePlatformOnlyIfAllAreEmulatedAlike) {
  Config config;
  config.experiments = {Experiment(kArm, {"qemu-aarch64"}), Experiment(kArm, {"qemu-aarch64"})};
  EXPECT_EQ(RunPlatform(config, device_), "linux-aarch64-emulated");
  config.experiments[0] = Experiment(kX86);
  EXPECT_EQ(RunPlatform(config, device_), "linux-x86_64");
  config.experiments.erase(config.experiments.begin() + 1);
  EXPECT_EQ(RunPlatform(config, device_), "linux-x86_64");
}

}  // namespace
}  // namespace etprof
