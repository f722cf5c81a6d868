#include "machine/caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string_view>

#include "core/error.h"
#include "core/process/cgroup.h"
#include "core/process/cpus.h"
#include "core/text/text.h"
#include "core/views.h"
#include "machine/memory_kernels.h"

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace etprof::runner {
namespace {

constexpr std::int64_t kKilo = 1024;
constexpr std::int64_t kMega = 1024 * kKilo;
constexpr std::int64_t kMinMemorySet = 64 * kMega, kMaxMemorySet = 512 * kMega;

std::int64_t RoundedDown(std::int64_t bytes) { return bytes - bytes % (2 * kMemoryStep); }

}  // namespace

#if defined(__APPLE__)

std::vector<CacheLevel> ReadCaches(const std::vector<int>&, const std::filesystem::path&) {
  const auto read_sysctl = [](const char* name) {
    std::int64_t value = 0;
    std::size_t size = sizeof(value);
    return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;
  };
  std::vector<CacheLevel> caches;
  if (const std::int64_t l1 = read_sysctl("hw.perflevel0.l1dcachesize"); l1 > 0) caches.push_back({1, l1, 1});
  if (const std::int64_t l2 = read_sysctl("hw.perflevel0.l2cachesize"); l2 > 0 && !caches.empty()) {
    caches.push_back(
        {2, l2, static_cast<int>(std::max<std::int64_t>(1, read_sysctl("hw.perflevel0.cpusperl2")))});
  }
  return caches;
}

std::vector<int> AllowedCpus() { return {}; }

std::int64_t AvailableMemoryBytes() { return 0; }

#else

namespace {

std::string FirstLine(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// Parses a size such as "32K", "8M", "32768".
std::int64_t ParseSize(std::string_view text) {
  const std::int64_t unit = text.ends_with('K') ? kKilo : text.ends_with('M') ? kMega : 1;
  if (unit > 1) text.remove_suffix(1);
  const auto number = AsNumber<std::uint32_t>(text);
  return number ? *number * unit : 0;
}

// The number of `cpus` in a list such as "0-3,8"; at least 1.
int CountSharers(const std::string& list, const std::vector<int>& cpus) {
  try {
    const std::vector<int> sharing = ParseCpus(list);
    const auto shares = [&](int cpu) { return std::ranges::binary_search(sharing, cpu); };
    return std::max(1, static_cast<int>(std::ranges::count_if(cpus, shares)));
  } catch (const Error&) {
    return 1;
  }
}

}  // namespace

std::vector<CacheLevel> ReadCaches(const std::vector<int>& cpus, const std::filesystem::path& sysfs) {
  std::map<int, CacheLevel> levels;
  for (const int cpu : cpus) {
    const std::filesystem::path folder = sysfs / fmt::format("cpu{}", cpu) / "cache";
    for (int index = 0; index < 16; ++index) {
      const std::filesystem::path cache = folder / fmt::format("index{}", index);
      const std::string type = FirstLine(cache / "type");
      if (type != "Data" && type != "Unified") {
        if (type.empty()) break;
        continue;
      }
      const CacheLevel cache_level{static_cast<int>(ParseSize(FirstLine(cache / "level"))),
                                   ParseSize(FirstLine(cache / "size")),
                                   CountSharers(FirstLine(cache / "shared_cpu_list"), cpus)};
      if (cache_level.level < 1 || cache_level.level > 9 || cache_level.bytes < 4 * kKilo) continue;
      const auto [entry, is_new] = levels.emplace(cache_level.level, cache_level);
      if (!is_new &&
          cache_level.bytes / cache_level.cpus_per_cache < entry->second.bytes / entry->second.cpus_per_cache)
        entry->second = cache_level;
    }
  }
  return MapValues(levels);
}

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::int64_t AvailableMemoryBytes() {
  const std::string meminfo = ReadProcFile("/proc/meminfo");
  const auto available = FindLine(meminfo, "MemAvailable:");
  return available ? ParseLeadingInteger(Trimmed(*available)).value_or(0) * kKilo : 0;
}

#endif

std::vector<WorkingSet> PlanWorkingSets(const std::vector<CacheLevel>& caches, int threads,
                                        std::int64_t available_bytes) {
  std::int64_t max_bytes = kMaxMemorySet;
  if (available_bytes > 0) max_bytes = std::min(max_bytes, std::max(kMega, available_bytes / 8));
  const std::int64_t min_thread_bytes = 2 * kMemoryStep;
  std::vector<WorkingSet> sets;
  if (caches.empty()) {
    for (std::int64_t bytes = 16 * kKilo; bytes <= 256 * kMega; bytes *= 4) {
      const std::int64_t thread_bytes = RoundedDown(bytes / threads);
      if (thread_bytes >= min_thread_bytes && thread_bytes * threads <= max_bytes)
        sets.push_back({"sweep", thread_bytes, thread_bytes * threads});
    }
    if (!sets.empty()) sets.back().capacity_bytes.reset();
    return sets;
  }
  std::int64_t inner_bytes = 0;       // capacity of the inner caches per thread
  std::int64_t last_cache_bytes = 0;  // capacity of the last cache for all threads
  for (const CacheLevel& cache : caches) {
    const std::int64_t thread_bytes = cache.bytes / std::min(threads, cache.cpus_per_cache);
    last_cache_bytes = thread_bytes * threads;
    const std::int64_t bytes = RoundedDown(thread_bytes / 2);
    if (bytes >= std::max(min_thread_bytes, 2 * inner_bytes) && bytes * threads <= max_bytes)
      sets.push_back({fmt::format("L{}", cache.level), bytes, last_cache_bytes});
    inner_bytes = std::max(inner_bytes, thread_bytes);
  }
  const std::int64_t memory_bytes = std::min(max_bytes, std::max(kMinMemorySet, 4 * last_cache_bytes));
  sets.push_back({"DRAM", std::max(min_thread_bytes, RoundedDown(memory_bytes / threads)), std::nullopt});
  return sets;
}

}  // namespace etprof::runner
