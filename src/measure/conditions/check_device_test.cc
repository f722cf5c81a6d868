#include "measure/conditions/check_device.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

using testing::ElementsAre, testing::IsEmpty, testing::StartsWith;

DeviceProperties MakeX86Device() {
  DeviceProperties properties;
  properties.name = "local";
  properties.platform = "linux-x86_64";
  properties.architecture = "x86_64";
  properties.features = {"pni", "ssse3", "sse4_1", "sse4_2", "avx", "f16c", "fma", "avx2"};
  properties.cpus.resize(2);
  properties.cpus[1].id = 1;
  properties.cores = 2;
  return properties;
}

Config ConfigWith(ExperimentConfig experiment) {
  experiment.name = "a";
  if (experiment.runner.empty()) experiment.runner = "/bin/sh";
  Config config;
  config.experiments = {std::move(experiment)};
  return config;
}

Config ConfigWithMask(const std::string& isa) {
  ExperimentConfig experiment;
  experiment.isa = isa;
  return ConfigWith(experiment);
}

Config ConfigOnCpus(const std::string& cpus) {
  ExperimentConfig experiment;
  experiment.cpu_affinity = cpus;
  return ConfigWith(experiment);
}

Config ConfigWithRunner(const std::string& runner, const std::vector<std::string>& wrapper = {},
                        const std::string& isa = "") {
  ExperimentConfig experiment;
  experiment.runner = runner;
  experiment.exec_wrapper = wrapper;
  experiment.isa = isa;
  return ConfigWith(experiment);
}

// The message of CheckForDevice and CheckMasks; empty: no problem.
std::string Problem(const Config& config, const DeviceProperties& properties = MakeX86Device(),
                    const std::string& device = "local") {
  try {
    CheckForDevice(config, device, properties);
    CheckMasks(config, properties);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), config.power_mode.empty() ? ExitCode::kBadInput : ExitCode::kUsage);
    return error.Message();
  }
  return "";
}

TEST(CheckDevice, ChecksMasks) {
  EXPECT_EQ(Problem(ConfigWithMask("-avx2")), "");
  EXPECT_EQ(Problem(ConfigWithMask("=avx")), "");
  EXPECT_EQ(Problem(ConfigWithMask("-avxx2")),
            "experiment \"a\": --isa: unknown CPU feature 'avxx2'. Did you mean 'avx2'?");
  EXPECT_NE(Problem(ConfigWithMask("-avx512")).find("this CPU has no avx512 feature"), std::string::npos);
  EXPECT_NE(Problem(ConfigWithMask("-sme2")).find("is a feature of aarch64"), std::string::npos);
}

TEST(CheckDevice, AcceptsAnyFeatureOfAnEmulatedArchitecture) {
  // The architecture of a script is not known.
  EXPECT_EQ(Problem(ConfigWithRunner("/etc/passwd", {"/bin/sh"}, "-sme2")), "");
#if defined(__x86_64__)
  DeviceProperties old_cpu = MakeX86Device();
  old_cpu.features = {"pni"};
  const std::string runner = std::filesystem::read_symlink("/proc/self/exe").string();
  EXPECT_EQ(Problem(ConfigWithRunner(runner, {"/bin/sh"}, "-avx512"), old_cpu), "");
  EXPECT_NE(Problem(ConfigWithRunner(runner, {"/bin/sh"}, "-avx51"), old_cpu), "");
  EXPECT_NE(Problem(ConfigWithRunner(runner, {}, "-avx512"), old_cpu), "");
#endif
}

TEST(CheckDevice, ChecksCpus) {
  EXPECT_EQ(Problem(ConfigOnCpus("1")), "");
  EXPECT_EQ(Problem(ConfigOnCpus("1,7")), "");  // one existing CPU suffices, as for taskset
  EXPECT_NE(Problem(ConfigOnCpus("7")).find("none of the CPUs 7 is there"), std::string::npos);
  EXPECT_NE(Problem(ConfigOnCpus("big")), "");  // if all CPUs are alike, the cluster's name is "all"
  EXPECT_EQ(Problem(ConfigOnCpus("all")), "");
}

TEST(CheckDevice, ChecksPrograms) {
  EXPECT_NE(Problem(ConfigWithRunner("/etc/passwd")), "");
  EXPECT_NE(Problem(ConfigWithRunner("/etc")), "");
  EXPECT_NE(Problem(ConfigWithRunner("/bin/sh", {"no-such-program"})).find("no-such-program"),
            std::string::npos);
  EXPECT_EQ(Problem(ConfigWithRunner("/etc/passwd", {"sh"})), "");
  // The program only has to exist on the remote device.
  EXPECT_EQ(Problem(ConfigWithRunner("/etc/passwd"), MakeX86Device(), "ssh:board"), "");
}

TEST(CheckDevice, AcceptsPowerModesOnAndroidOnly) {
  Config config = ConfigWith({});
  config.power_mode = "app-developer";
  EXPECT_NE(Problem(config), "");
  DeviceProperties android = MakeX86Device();
  android.platform = "android";
  EXPECT_EQ(Problem(config, android, "adb"), "");
}

TEST(CheckDevice, RefusesARunnerForAnotherArchitecture) {
  DeviceProperties arm = MakeX86Device();
  arm.architecture = "aarch64";
  arm.features = {"asimddp"};
  ExperimentConfig experiment;
  experiment.runner = std::filesystem::read_symlink("/proc/self/exe");
#if defined(__x86_64__)
  EXPECT_NE(Problem(ConfigWith(experiment), arm, "ssh:board").find("is a program for x86_64"),
            std::string::npos);
#endif
  experiment.exec_wrapper = {"qemu-x86_64"};
  EXPECT_EQ(Problem(ConfigWith(experiment), arm, "ssh:board"), "");
}

Config ConfigWithThreads(std::vector<int> threads, const std::string& cpus = "") {
  ExperimentConfig experiment;
  experiment.threads = std::move(threads);
  experiment.cpu_affinity = cpus;
  return ConfigWith(experiment);
}

TEST(ThreadWarnings, NameThreadsAndCpus) {
  const DeviceProperties two_cpus = MakeX86Device();
  EXPECT_THAT(ThreadWarnings(ConfigWithThreads({1, 2}), two_cpus), IsEmpty());
  EXPECT_THAT(
      ThreadWarnings(ConfigWithThreads({64, 64}), two_cpus),
      ElementsAre("64 threads on 2 CPUs (CPU 0-1): they wait for each other; use 2 threads or fewer"));
  EXPECT_THAT(ThreadWarnings(ConfigWithThreads({2}, "1"), two_cpus),
              ElementsAre("2 threads on 1 CPU (CPU 1): they wait for each other; use 1 thread"));
  EXPECT_THAT(ThreadWarnings(ConfigWithThreads({1}, "1"), two_cpus), IsEmpty());
  DeviceProperties unknown = two_cpus;
  unknown.cpus.clear();
  EXPECT_THAT(ThreadWarnings(ConfigWithThreads({64}), unknown), IsEmpty());
}

TEST(ThreadWarnings, ConsiderAffinityAndCpuset) {
  DeviceProperties two_cpus = MakeX86Device();
  two_cpus.limits.affinity = "1";
  EXPECT_THAT(ThreadWarnings(ConfigWithThreads({2}), two_cpus),
              ElementsAre("2 threads on 1 CPU (CPU 1): they wait for each other; use 1 thread"));
  // A worker that is pinned to other CPUs leaves etprof's affinity, but never the cpuset.
  EXPECT_THAT(ThreadWarnings(ConfigWithThreads({2}, "0-1"), two_cpus), IsEmpty());
  two_cpus.limits.affinity.clear();
  two_cpus.limits.cpuset = "0";
  EXPECT_THAT(ThreadWarnings(ConfigWithThreads({2}, "0-1"), two_cpus),
              ElementsAre(StartsWith("2 threads on 1 CPU (CPU 0): ")));
  two_cpus.limits.cpuset = "none that anybody knows";
  EXPECT_THAT(ThreadWarnings(ConfigWithThreads({2}), two_cpus), IsEmpty());
}

TEST(ThreadWarnings, ConsiderHyperthreads) {
  DeviceProperties four_cpus = MakeX86Device();
  four_cpus.cpus.resize(4);
  for (std::size_t id = 0; id < 4; ++id) {
    four_cpus.cpus[id].id = static_cast<int>(id);
    four_cpus.cpus[id].siblings = id % 2 == 0 ? "0,2" : "1,3";
  }
  EXPECT_THAT(ThreadWarnings(ConfigWithThreads({2}), four_cpus), IsEmpty());
  EXPECT_THAT(ThreadWarnings(ConfigWithThreads({2}, "0-1"), four_cpus), IsEmpty());
  const auto warnings = [&](int threads, const std::string& cpus) {
    return fmt::to_string(fmt::join(ThreadWarnings(ConfigWithThreads({threads}, cpus), four_cpus), " | "));
  };
  ExpectGoldenMessages("measure/conditions/hyperthread_warnings",
                       {{"4 threads on all CPUs", warnings(4, "")},
                        {"2 threads on one core", warnings(2, "0,2")},
                        {"2 threads on two cores, three CPUs", warnings(2, "0-2")}});
}

}  // namespace
}  // namespace etprof
