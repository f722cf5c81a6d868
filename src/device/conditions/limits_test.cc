#include "device/conditions/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/file/file.h"
#include "device/local/local_properties.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// A folder that replaces the root folder of a device.
class LimitsTree : public testing::Test {
 protected:
  ~LimitsTree() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void WriteCgroupV1() {
    Write("proc/self/cgroup", "4:memory:/box\n3:cpuset:/\n1:cpu:/box\n0::/\n");
    Write("proc/self/mountinfo",
          "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n34 31 0:31 / /cg/cpuset rw - cgroup cgroup "
          "rw,cpuset\n"
          "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n");
    Write("proc/self/status", "Name:\tcat\nCpus_allowed:\t2\nCpus_allowed_list:\t1\nMems_allowed:\t1\n");
    Write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n");
    Write("cg/cpu/box/cpu.cfs_quota_us", "10000\n");
    Write("cg/cpu/box/cpu.cfs_period_us", "100000\n");
    Write("cg/cpu/box/cpu.stat", "nr_periods 80\nnr_throttled 78\nthrottled_time 5300000000\n");
    Write("cg/cpuset/cpuset.cpus", "0-1\n");
    Write("cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
    Write("cg/memory/memory.usage_in_bytes", "7000000000\n");
    Write("cg/memory/box/memory.limit_in_bytes", "600000000\n");
    Write("cg/memory/box/memory.usage_in_bytes", "500000000\n");
    Write("cg/memory/box/memory.failcnt", "3\n");
    Write("cg/memory/box/memory.stat", "inactive_file 1\ntotal_inactive_file 150000000\n");
    Write("cg/memory/box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  }

  const fs::path root_ = MakeTemporaryFolder("etprof-limits-test", "a folder");
};

TEST_F(LimitsTree, ReadsCgroupV1) {
  WriteCgroupV1();
  const ResourceLimits limits = ReadResourceLimits(root_);
  EXPECT_DOUBLE_EQ(limits.quota_cpus.value(), 0.1);
  EXPECT_EQ(limits.throttled_time, 5'300'000'000);
  EXPECT_EQ(limits.cpuset, "0-1");
  EXPECT_EQ(limits.affinity, "1");
  EXPECT_EQ(limits.memory_limit, 600'000'000);
  EXPECT_EQ(limits.memory_available, 250'000'000);
  EXPECT_EQ(limits.memory_limit_hits, 3);
  EXPECT_EQ(limits.oom_kills, 2);
  EXPECT_EQ(QuotaText(limits), "this container may use 0.10 CPUs (cpu.cfs_quota_us)");
  EXPECT_EQ(LimitsText(limits), "0.10 CPUs (cpu.cfs_quota_us), cpuset 0-1, affinity 1, 600 MB of memory");
}

TEST_F(LimitsTree, AvailableMemoryIsWithinTheContainersLimit) {
  WriteCgroupV1();
  EXPECT_EQ(ReadAvailableMemory(root_), 250'000'000) << "of 4 GB of the machine";
  Write("proc/meminfo", "MemAvailable: 1000 kB\n");
  EXPECT_EQ(ReadAvailableMemory(root_), 1'024'000) << "the machine has less than the container may use";
}

TEST_F(LimitsTree, CgroupV2UsesTheAncestorWithTheLeastMemory) {
  Write("proc/self/cgroup", "0::/pod/box\n");
  Write("proc/self/mountinfo", "31 23 0:28 / /cg rw - cgroup2 cgroup rw\n");
  Write("proc/meminfo", "MemAvailable: 4000000 kB\n");
  Write("cg/cpuset.cpus.effective", "0-3\n");
  Write("cg/pod/cpu.max", "150000 100000\n");
  Write("cg/pod/memory.max", "1000\n");
  Write("cg/pod/memory.current", "900\n");
  Write("cg/pod/memory.stat", "anon 300\ninactive_file 200\n");
  Write("cg/pod/memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\n");
  Write("cg/pod/box/memory.max", "max\n");
  Write("cg/pod/box/memory.current", "800\n");
  Write("cg/pod/box/memory.events", "max 0\noom 0\noom_kill 5\n");
  const ResourceLimits limits = ReadResourceLimits(root_);
  EXPECT_EQ(limits.quota_cpus, 1.5);
  EXPECT_EQ(limits.quota_key, "cpu.max");
  EXPECT_EQ(limits.cpuset, "0-3") << "of the group that has the controller";
  EXPECT_EQ(limits.memory_available, 300);
  EXPECT_EQ(limits.oom_kills, 5) << "its own group's";
  EXPECT_EQ(ReadAvailableMemory(root_), 300);
  Write("cg/pod/memory.current", "5000\n");
  EXPECT_EQ(ReadAvailableMemory(root_), 0) << "never negative";
}

TEST_F(LimitsTree, ToleratesMissingCgroups) {
  EXPECT_EQ(LimitsText(ReadResourceLimits(root_)), "");
  EXPECT_FALSE(ReadAvailableMemory(root_));
}

TEST(Limits, DescribesChangesBetweenTwoReadings) {
  ResourceLimits before;
  before.quota_cpus = 0.1;
  before.quota_key = "cpu.max";
  before.periods = before.throttled_periods = before.throttled_time = before.oom_kills =
      before.memory_limit_hits = 1;
  before.memory_limit = 500'000'000;
  EXPECT_EQ(ThrottlingText(before, before), "");
  EXPECT_EQ(OutOfMemoryText(before, before), "");
  ResourceLimits after = before;
  after.periods = 101;
  after.throttled_periods = 95;
  after.throttled_time = 7'500'000'001;
  after.oom_kills = 2;
  EXPECT_EQ(ThrottlingText(before, after),
            "this container may use 0.10 CPUs (cpu.max); it was stopped for 7.5 s, in 94% of "
            "the quota's periods");
  EXPECT_EQ(OutOfMemoryText(before, after), "the device's memory is used up") << "its limit was not reached";
  after.memory_limit_hits = 9;
  EXPECT_EQ(OutOfMemoryText(before, after), "the container's memory limit of 500 MB is used up");
  EXPECT_EQ(OutOfMemoryText({}, after), "") << "nothing is known of before";
}

}  // namespace
}  // namespace etprof
