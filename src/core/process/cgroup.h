#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Locates the files of the calling process's Linux control groups, versions 1 and 2 (man 7 cgroups;
// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of Linux). All files are read below `root`. A root
// other than "/" contains the files of another device or of a test.
namespace etprof {

// The folders with a controller's files: first the process's own group, then its ancestors, as far as they
// are mounted. The limits of all of them apply to the process.
struct Cgroup {
  int version = 2;  // cgroup version of the controller's hierarchy: 1 or 2
  std::vector<std::filesystem::path> folders;
};

// Finds the group in /proc/self/cgroup and /proc/self/mountinfo. Absent if no hierarchy has the controller
// ("cpu", "cpuset", "memory"), or if the group is outside of the mounted groups ("/../other" in a namespace).
std::optional<Cgroup> FindCgroup(std::string_view controller, const std::filesystem::path& root = "/");

// Reads at most 64 kB of a file of /proc or of a control group; "" if the file cannot be read.
std::string ReadProcFile(const std::filesystem::path& path);

// The rest of the first line that begins with `key` and a blank, from the blank on.
std::optional<std::string_view> FindLine(std::string_view text, std::string_view key);

// The number after `key` and a blank at the beginning of a line. Absent if there is no such line, or if it
// has no number from 0 to INT64_MAX.
std::optional<std::int64_t> CgroupNumber(std::string_view text, std::string_view key);

// The CPU time limit of a group: a quota per period.
struct CpuQuota {
  double cpus = 0;               // quota / period: 0.1 is a tenth of one CPU
  std::string key;               // "cpu.max" or "cpu.cfs_quota_us"
  std::filesystem::path folder;  // the folder with the group's files
};
// The smallest quota among the process's group and its ancestors. Absent if none of them has a quota.
std::optional<CpuQuota> ReadCpuQuota(const std::filesystem::path& root = "/");

// Cumulative counts of a group's periods. In a throttled period the quota was used up and the group was
// stopped.
struct CpuThrottling {
  std::int64_t periods = 0, throttled_periods = 0;
  std::int64_t throttled_ns = 0;  // in version 1, the sum over the CPUs on which the group was stopped
};
// Parses the text of cpu.stat. Absent if this version's controller does not limit the group's CPU time.
std::optional<CpuThrottling> ParseThrottling(std::string_view cpu_stat);

// The cpu.stat of the group that ReadCpuQuota finds, otherwise of the process's own group. Empty if the
// process has no group.
std::filesystem::path CpuStatFile(const std::filesystem::path& root = "/");

}  // namespace etprof
