#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Linux control groups of both versions (man 7 cgroups; Documentation/admin-guide/cgroup-v2.rst and
// cgroup-v1/ of Linux): where the files of the calling process's groups are. All files are read below `root`;
// another root than "/" holds the files of another device, or of a test.
namespace etprof {

// The folders that hold a controller's files: of the process's own group first, then of its ancestors, as far
// as they are mounted. A limit of each of them holds for the process.
struct Cgroup {
  int version = 2;  // of the hierarchy that has the controller: 1 or 2
  std::vector<std::filesystem::path> folders;
};

// Finds the group by /proc/self/cgroup and /proc/self/mountinfo. Absent: no hierarchy has the controller
// ("cpu", "cpuset", "memory"), or the group is outside of what is mounted (a namespace's "/../other").
std::optional<Cgroup> FindCgroup(std::string_view controller, const std::filesystem::path& root = "/");

// At most 64 kB of a file, as much as any file of a control group has; "": it cannot be read.
std::string ReadCgroupFile(const std::filesystem::path& path);

// The number behind `key` and a blank at the beginning of a line. Absent: there is no such line, or no number
// from 0 to INT64_MAX is behind it.
std::optional<std::int64_t> CgroupNumber(std::string_view text, std::string_view key);

// How much processor time a group may use: a quota of each period.
struct CpuQuota {
  double cpus = 0;               // quota / period: 0.1 is a tenth of one CPU
  std::string key;               // "cpu.max" or "cpu.cfs_quota_us"
  std::filesystem::path folder;  // that holds the files of the group
};
// The smallest quota of the process's group and its ancestors. Absent: none of them has one.
std::optional<CpuQuota> ReadCpuQuota(const std::filesystem::path& root = "/");

// Periods of a group, cumulative: in a throttled one the quota was used up and the group was stopped.
struct CpuThrottling {
  std::int64_t periods = 0, throttled_periods = 0;
  std::int64_t throttled_ns = 0;  // version 1 adds up the CPUs that the group was stopped on
};
// Of the text of cpu.stat. Absent: the group's processor time is not limited by this version's controller.
std::optional<CpuThrottling> ParseThrottling(std::string_view cpu_stat);

// The cpu.stat of the group that ReadCpuQuota finds, else of the process's own group. "": there is none.
std::filesystem::path CpuStatFile(const std::filesystem::path& root = "/");

}  // namespace etprof
