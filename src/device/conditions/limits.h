#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/json/describe.h"
#include "core/units.h"

namespace etprof {

// What the control groups of etprof's processes on a device (its container) and their affinity let them use.
// Absent or empty: not limited, or not known.
struct ResourceLimits {
  std::optional<double> quota_cpus;  // processor time per time: 0.1 is a tenth of one CPU
  std::string quota_key;             // the file that says so
  std::string cpuset, affinity;      // CPUs, "0-3,6"
  // Of the group with that quota, cumulative.
  std::optional<std::int64_t> periods, throttled_periods;
  std::optional<Nanoseconds> throttled;
  std::optional<Bytes> memory_limit;      // of the group that has the least left
  std::optional<Bytes> memory_available;  // below that limit; the group's inactive file cache counts as free
  std::optional<std::int64_t> memory_limit_hits, oom_kills;  // cumulative

  static constexpr const char* kSchemaName = "limits";
  static void Describe(auto& v) {
    using L = ResourceLimits;
    v("quota_cpus", &L::quota_cpus,
      {.meaning = "CPUs' worth of processor time that the control group may use; null: no quota",
       .least = 0});
    v("quota_key", &L::quota_key,
      {.meaning = "file with the quota: `cpu.max` or `cpu.cfs_quota_us`", .or_null = true});
    v("cpuset", &L::cpuset, {.meaning = "CPUs of the control group's cpuset, \"0-3\"", .or_null = true});
    v("affinity", &L::affinity, {.meaning = "CPUs that the affinity allows, \"0-3\"", .or_null = true});
    v("periods", &L::periods, {.meaning = "of the quota, since the group was made"});
    v("throttled_periods", &L::throttled_periods, {.meaning = "periods in which the quota was used up"});
    v("throttled_ns", &L::throttled, {.meaning = "for which the group was stopped then, since it was made"});
    v("memory_limit_bytes", &L::memory_limit, {.meaning = "of the control group; null: no limit"});
    v("memory_available_bytes", &L::memory_available,
      {.meaning = "below the limit; inactive file cache counts as available"});
    v("memory_limit_hits", &L::memory_limit_hits, {.meaning = "how often the limit was reached"});
    v("oom_kills", &L::oom_kills, {.meaning = "processes that the kernel killed for want of memory"});
  }
};

// Reads /proc/self and the control groups of Linux below `root`.
ResourceLimits ReadResourceLimits(const std::filesystem::path& root = "/");

// Script code for a POSIX shell that prints these files by its functions `part NAME` and `show PATH`
// (remote_properties.cc).
std::string ShowLimitFiles();

// "this container may use 0.10 CPUs (cpu.cfs_quota_us)". Empty without a quota.
std::string QuotaText(const ResourceLimits& limits);
// The same with the time that the group was stopped between two readings:
// "...; it was stopped for 7.5 s, in 94% of the periods". Empty where it was not stopped.
std::string ThrottlingText(const ResourceLimits& before, const ResourceLimits& after);
// All of it, for people: "0.10 CPUs (cpu.cfs_quota_us), cpuset 0-1, affinity 1, 512 MB of memory".
std::string LimitsText(const ResourceLimits& limits);
// Why the kernel killed a process between two readings: "the container's memory limit of 512 MB is used up".
// Empty: it killed none for want of memory.
std::string OutOfMemoryText(const ResourceLimits& before, const ResourceLimits& after);

}  // namespace etprof
