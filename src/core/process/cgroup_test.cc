#include "core/process/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/file/file.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

constexpr const char* kMountsV1 =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
constexpr const char* kMountsV2 = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup rw\n";

// A temporary folder that serves as the root folder "/".
class CgroupTree : public testing::Test {
 protected:
  ~CgroupTree() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void SetProcess(const std::string& cgroup, const std::string& mounts) {
    Write("proc/self/cgroup", cgroup);
    Write("proc/self/mountinfo", mounts);
  }
  std::vector<std::string> FindFolders(const char* controller) {
    std::vector<std::string> names;
    if (const auto group = FindCgroup(controller, root_)) {
      for (const fs::path& folder : group->folders)
        names.push_back("/" + fs::relative(folder, root_).string());
    }
    return names;
  }

  const fs::path root_ = MakeTemporaryFolder("etprof-cgroup-test", "a folder");
};

TEST_F(CgroupTree, Version1GroupsAreWhereTheirControllerIsMounted) {
  SetProcess("9:name=systemd:/x\n4:memory:/m\n2:cpuacct,cpu:/box/inner\n1:cpuset:/c\n0::/\n", kMountsV1);
  Write("sys/fs/cgroup/cpu,cpuacct/box/inner/cpu.stat", "");
  Write("sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n");
  EXPECT_THAT(FindFolders("cpu"),
              ElementsAre("/sys/fs/cgroup/cpu,cpuacct/box/inner", "/sys/fs/cgroup/cpu,cpuacct/box",
                          "/sys/fs/cgroup/cpu,cpuacct"));
  EXPECT_EQ(FindCgroup("cpu", root_)->version, 1) << "version 2 is mounted, too, without this controller";
  EXPECT_THAT(FindFolders("cpuset"), ElementsAre("/sys/fs/cgroup/cpuset"))
      << "a group that is gone is left out";
  EXPECT_THAT(FindFolders("memory"), ElementsAre()) << "not mounted";
}

TEST_F(CgroupTree, Version2AndHybridSystems) {
  SetProcess("0::/user.slice/a b.scope\n", kMountsV2);
  Write("sys/fs/cgroup/user.slice/a b.scope/cpu.max", "max 100000\n");
  EXPECT_THAT(FindFolders("memory"), ElementsAre("/sys/fs/cgroup/user.slice/a b.scope",
                                                 "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"));
  SetProcess("1:cpuset:/\n0::/a\n", kMountsV1);
  Write("sys/fs/cgroup/unified/a/cpu.stat", "");
  EXPECT_THAT(FindFolders("cpu"), ElementsAre("/sys/fs/cgroup/unified/a", "/sys/fs/cgroup/unified"));
}

TEST_F(CgroupTree, ContainerGroupsAreBelowTheRootOfTheirMount) {
  SetProcess("3:cpu:/docker/abc\n", "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  Write("sys/fs/cgroup/cpu/cpu.stat", "");
  EXPECT_THAT(FindFolders("cpu"), ElementsAre("/sys/fs/cgroup/cpu"))
      << "a container without its own cgroup namespace";
  SetProcess("3:cpu:/../../x/y\n", "32 31 0:29 /../../x /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  Write("sys/fs/cgroup/cpu/y/cpu.stat", "");
  EXPECT_THAT(FindFolders("cpu"), ElementsAre("/sys/fs/cgroup/cpu/y", "/sys/fs/cgroup/cpu"))
      << "the group of another cgroup namespace";
  SetProcess("3:cpu:/b\n", "32 31 0:29 / /mnt/c\\040d rw - cgroup cgroup rw,cpu\n");
  Write("mnt/c d/b/cpu.stat", "");
  EXPECT_THAT(FindFolders("cpu"), ElementsAre("/mnt/c d/b", "/mnt/c d"));
}

TEST_F(CgroupTree, GroupsOutsideOfTheMountsAreNotGuessed) {
  Write("etc/cpu.stat", "");
  Write("sys/fs/cgroup/cpu.stat", "");
  for (const char* cgroup :
       {"0::/../../../etc\n", "0::/..\n", "0::/a/../b\n", "0::relative\n", "nonsense\n:::\n1:cpu\n", ""}) {
    SetProcess(cgroup, kMountsV2);
    EXPECT_THAT(FindFolders("cpu"), ElementsAre()) << cgroup;
  }
  SetProcess("0::/dockerx\n", "31 23 0:28 /docker /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
  EXPECT_THAT(FindFolders("cpu"), ElementsAre());
  SetProcess("0::/a\n", "31 23\n - \n31 23 0:28 / /sys/fs/cgroup rw cgroup2\n");
  EXPECT_THAT(FindFolders("cpu"), ElementsAre());
}

TEST_F(CgroupTree, TheSmallestQuotaOfAllAncestorsApplies) {
  SetProcess("0::/pod/box\n", kMountsV2);
  Write("sys/fs/cgroup/pod/box/cpu.max", "400000 100000\n");
  EXPECT_EQ(ReadCpuQuota(root_)->cpus, 4);
  Write("sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
  EXPECT_EQ(ReadCpuQuota(root_)->cpus, 1.5);
  EXPECT_EQ(CpuStatFile(root_), root_ / "sys/fs/cgroup/pod/cpu.stat");
  Write("sys/fs/cgroup/pod/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
  EXPECT_FALSE(ReadCpuQuota(root_));
  EXPECT_EQ(CpuStatFile(root_), root_ / "sys/fs/cgroup/pod/box/cpu.stat");
  for (const char* bad : {"", "5", "x 1", "-5 100", "5 0", "1 2 3"}) {
    Write("sys/fs/cgroup/pod/cpu.max", bad);
    EXPECT_FALSE(ReadCpuQuota(root_)) << bad;
  }
}

TEST_F(CgroupTree, ReadsTheQuotaOfVersion1) {
  SetProcess("2:cpu,cpuacct:/q\n", kMountsV1);
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/q/cpu.cfs_quota_us", "10000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/q/cpu.cfs_period_us", "100000\n");
  const auto quota = ReadCpuQuota(root_);
  ASSERT_TRUE(quota);
  EXPECT_DOUBLE_EQ(quota->cpus, 0.1);
  EXPECT_EQ(quota->key, "cpu.cfs_quota_us");
}

TEST(Cgroup, ParsesThrottlingOfBothVersions) {
  // Linux 6.18, version 2 and version 1 (the order of its keys differs).
  const auto v2 = ParseThrottling(
      "usage_usec 7062515\nuser_usec 6700000\nsystem_usec 362515\nnr_periods 91\n"
      "nr_throttled 90\nthrottled_usec 4504921\n");
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->throttled_ns, 4504921000);
  EXPECT_EQ(v2->periods, 91);
  EXPECT_EQ(v2->throttled_periods, 90);
  EXPECT_EQ(
      ParseThrottling("nr_periods 4\nnr_throttled 2\nthrottled_time 60211345\nnr_bursts 0\n")->throttled_ns,
      60211345);
  for (const char* bad : {"usage_usec 7062515\n", "throttled_usec\n", "throttled_usec -5\n",
                          "throttled_usec 9223372036854775807\n", "throttled_usec 12x\n", ""})
    EXPECT_FALSE(ParseThrottling(bad)) << bad;
}

}  // namespace
}  // namespace etprof
