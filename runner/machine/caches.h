#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace etprof::runner {

// A data cache as the CPUs that this process may use have it.
struct CacheLevel {
  int level = 1;
  std::int64_t bytes = 0;  // of one, the smallest where the CPUs differ
  int sharers = 1;         // of those CPUs, that share one
};

// By level, innermost first. Linux tells in <sysfs>/cpuN/cache, macOS by sysctl; empty where nobody does.
std::vector<CacheLevel> ReadCaches(const std::vector<int>& cpus,
                                   const std::filesystem::path& sysfs = "/sys/devices/system/cpu");

// The CPUs that this process may run on, ascending; empty: not known.
std::vector<int> AllowedCpus();

// Memory that can be had now; 0: not known.
std::int64_t AvailableMemoryBytes();

// What every thread passes through for the bandwidth of one level.
struct WorkingSet {
  std::string level;                             // "L1", "L2", "L3", "DRAM", "sweep"
  std::int64_t bytes_per_thread = 0;             // a multiple of 2 * kMemoryStep
  std::optional<std::int64_t> capacity_bytes{};  // of the level, for all threads; absent: the last
};

// Half of every cache's share of a thread, so that it certainly lies in it, where that is more than twice
// what the caches before it hold; and four times the last cache, 64 MB at least, for memory itself, but an
// eighth of `available_bytes` at most. Without caches a sweep from 16 kB to 256 MB in steps of four.
std::vector<WorkingSet> PlanWorkingSets(const std::vector<CacheLevel>& caches, int threads,
                                        std::int64_t available_bytes);

}  // namespace etprof::runner
