#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace etprof::runner {

// A level of data caches, as seen by the CPUs that this process may use.
struct CacheLevel {
  int level = 1;
  std::int64_t bytes = 0;  // size of one cache; if the CPUs differ, of the smallest
  int cpus_per_cache = 1;  // number of CPUs of this process that share one cache
};

// Reads the cache levels, innermost first, from <sysfs>/cpuN/cache on Linux and sysctl on macOS; empty: not
// known.
std::vector<CacheLevel> ReadCaches(const std::vector<int>& cpus,
                                   const std::filesystem::path& sysfs = "/sys/devices/system/cpu");

// The CPUs that this process may run on, ascending; empty: not known.
std::vector<int> AllowedCpus();

// The memory that is available now; 0: not known.
std::int64_t AvailableMemoryBytes();

// The memory that every thread reads and writes to measure the bandwidth of one level.
struct WorkingSet {
  std::string level;                  // "L1", "L2", "L3", "DRAM", "sweep"
  std::int64_t bytes_per_thread = 0;  // a multiple of 2 * kMemoryStep
  // Capacity of the level for all threads; absent: main memory or a sweep.
  std::optional<std::int64_t> capacity_bytes{};
};

// Plans one working set per cache level: half of the thread's share of the cache, so that it certainly fits,
// if that is more than twice what the inner caches hold. For main memory: four times the last cache, at least
// 64 MB, at most an eighth of `available_bytes`. Without known caches: a sweep from 16 kB to 256 MB in steps
// of four.
std::vector<WorkingSet> PlanWorkingSets(const std::vector<CacheLevel>& caches, int threads,
                                        std::int64_t available_bytes);

}  // namespace etprof::runner
