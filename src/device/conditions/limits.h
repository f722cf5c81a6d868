#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/json/describe.h"
#include "core/units.h"

namespace etprof {

// The CPU and memory limits of etprof's processes on a device, set by control groups (the container) and CPU
// affinity. Absent or empty: not limited, or not known.
struct ResourceLimits {
  std::optional<double> quota_cpus;  // CPU seconds per second: 0.1 is a tenth of one CPU
  std::string quota_key;             // name of the cgroup file that has the quota
  std::string cpuset, affinity;      // CPUs, "0-3,6"
  // Quota periods and throttled time of the cgroup with the quota, since the group was created.
  std::optional<std::int64_t> periods, throttled_periods;
  std::optional<Nanoseconds> throttled_time;
  std::optional<Bytes> memory_limit;      // limit of the cgroup with the least available memory
  std::optional<Bytes> memory_available;  // memory left below that limit; inactive file cache counts as free
  std::optional<std::int64_t> memory_limit_hits, oom_kills;  // cumulative counts

  static constexpr const char* kSchemaName = "limits";
  static void Describe(auto& v) {
    using L = ResourceLimits;
    v("quota_cpus", &L::quota_cpus,
      {.meaning = "CPUs' worth of processor time that the control group may use; null: no quota", .min = 0});
    v("quota_key", &L::quota_key,
      {.meaning = "file with the quota: `cpu.max` or `cpu.cfs_quota_us`", .or_null = true});
    v("cpuset", &L::cpuset, {.meaning = "CPUs of the control group's cpuset, \"0-3\"", .or_null = true});
    v("affinity", &L::affinity, {.meaning = "CPUs that the affinity allows, \"0-3\"", .or_null = true});
    v("periods", &L::periods, {.meaning = "of the quota, since the group was made"});
    v("throttled_periods", &L::throttled_periods, {.meaning = "periods in which the quota was used up"});
    v("throttled_ns", &L::throttled_time,
      {.meaning = "for which the group was stopped then, since it was made"});
    v("memory_limit_bytes", &L::memory_limit, {.meaning = "of the control group; null: no limit"});
    v("memory_available_bytes", &L::memory_available,
      {.meaning = "below the limit; inactive file cache counts as available"});
    v("memory_limit_hits", &L::memory_limit_hits, {.meaning = "how often the limit was reached"});
    v("oom_kills", &L::oom_kills, {.meaning = "processes that the kernel killed for want of memory"});
  }
};

// Reads /proc/self and the control groups of Linux below `root`.
ResourceLimits ReadResourceLimits(const std::filesystem::path& root = "/");

// POSIX shell code that prints the files that ReadResourceLimits reads. It calls the shell functions `part
// NAME` and `show PATH` of remote_properties.cc.
std::string LimitFilesScript();

// The quota as text: "this container may use 0.10 CPUs (cpu.cfs_quota_us)". Empty: no quota.
std::string QuotaText(const ResourceLimits& limits);
// The quota and the time for which the cgroup was throttled between two readings: "this container may use
// 0.10 CPUs (cpu.max); it was stopped for 7.5 s, in 94% of the quota's periods". Empty: no throttling.
std::string ThrottlingText(const ResourceLimits& before, const ResourceLimits& after);
// All limits as text: "0.10 CPUs (cpu.cfs_quota_us), cpuset 0-1, affinity 1, 512 MB of memory".
std::string LimitsText(const ResourceLimits& limits);
// States which memory was used up if the kernel killed a process for lack of it between two readings: "the
// container's memory limit of 512 MB is used up". Empty: no process was killed.
std::string OutOfMemoryText(const ResourceLimits& before, const ResourceLimits& after);

}  // namespace etprof
