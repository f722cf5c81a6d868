#include "device/conditions/limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/process/cgroup.h"
#include "core/text/text.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kUnlimited = Bytes{1} << 60U;  // cgroup v1 writes INT64_MAX rounded down to pages

std::string ReadTrimmed(const fs::path& path) { return std::string(Trimmed(ReadProcFile(path))); }

void ReadCpuLimits(const fs::path& root, ResourceLimits& limits) {
  if (const auto quota = ReadCpuQuota(root)) {
    limits.quota_cpus = quota->cpus;
    limits.quota_key = quota->key;
    if (const auto throttling = ParseThrottling(ReadProcFile(quota->folder / "cpu.stat"))) {
      limits.periods = throttling->periods;
      limits.throttled_periods = throttling->throttled_periods;
      limits.throttled_time = throttling->throttled_ns;
    }
  }
  if (const auto group = FindCgroup("cpuset", root)) {
    // In cgroup v2, a group without the cpuset controller uses the set of its parent.
    const char* key = group->version == 2 ? "cpuset.cpus.effective" : "cpuset.cpus";
    for (const fs::path& folder : group->folders) {
      if (limits.cpuset.empty()) limits.cpuset = ReadTrimmed(folder / key);
    }
  }
  // Cpus_allowed_list is the affinity that sched_getaffinity returns.
  const std::string status = ReadProcFile(root / "proc/self/status");
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  if (const std::size_t at = status.find(kKey); at != std::string::npos) {
    const std::size_t begin = at + kKey.size();
    limits.affinity = Trimmed(status.substr(begin, status.find('\n', begin) - begin));
  }
}

void ReadMemoryLimits(const fs::path& root, ResourceLimits& limits) {
  const auto group = FindCgroup("memory", root);
  if (!group) return;
  const bool v2 = group->version == 2;
  for (const fs::path& folder : group->folders) {
    const std::string events = ReadProcFile(folder / (v2 ? "memory.events" : "memory.oom_control"));
    if (!limits.oom_kills) limits.oom_kills = CgroupNumber(events, "oom_kill");
    const auto limit =
        AsNumber<std::int64_t>(ReadTrimmed(folder / (v2 ? "memory.max" : "memory.limit_in_bytes")));
    const auto used =
        AsNumber<std::int64_t>(ReadTrimmed(folder / (v2 ? "memory.current" : "memory.usage_in_bytes")));
    if (!limit || !used || *limit < 0 || *limit >= kUnlimited || *used < 0) continue;
    const auto hits =
        v2 ? CgroupNumber(events, "max") : AsNumber<std::int64_t>(ReadTrimmed(folder / "memory.failcnt"));
    if (hits) limits.memory_limit_hits = limits.memory_limit_hits.value_or(0) + *hits;
    // The kernel reclaims inactive file cache before it kills a process. In cgroup v1 the usage includes the
    // child groups, so the total_ counter is subtracted.
    const std::string stat = ReadProcFile(folder / "memory.stat");
    const Bytes cache = CgroupNumber(stat, v2 ? "inactive_file" : "total_inactive_file").value_or(0);
    const Bytes available = std::max<Bytes>(0, *limit - std::max<Bytes>(0, *used - cache));
    if (limits.memory_available && *limits.memory_available <= available) continue;
    limits.memory_available = available;
    limits.memory_limit = *limit;
  }
}

bool Increased(const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& after) {
  return before && after && *after > *before;
}

}  // namespace

ResourceLimits ReadResourceLimits(const fs::path& root) {
  ResourceLimits limits;
  ReadCpuLimits(root, limits);
  ReadMemoryLimits(root, limits);
  return limits;
}

std::string LimitFilesScript() {
  // Prints the files of every group that the process may be in. FindCgroup then selects the groups that limit
  // the process.
  return R"sh(show /proc/self/cgroup
part /proc/self/status; grep '^Cpus_allowed_list' /proc/self/status 2>/dev/null
part /proc/self/mountinfo; grep ' - cgroup' /proc/self/mountinfo 2>/dev/null
sed 's/^[^:]*:[^:]*://' /proc/self/cgroup 2>/dev/null | sort -u | while read -r p; do
  while read -r _ _ _ top mount more; do
    case $more in *" - cgroup"*) ;; *) continue;; esac
    below=${p#"${top%/}"}
    below=${below%/}
    while :; do
      for f in cpu.max cpu.cfs_quota_us cpu.cfs_period_us cpu.stat cpuset.cpus.effective cpuset.cpus memory.max \
        memory.current memory.events memory.stat memory.limit_in_bytes memory.usage_in_bytes memory.failcnt \
        memory.oom_control; do show "$mount$below/$f"; done
      case $below in */*) below=${below%/*};; *) break;; esac
    done
  done </proc/self/mountinfo
done 2>/dev/null
)sh";
}

std::string QuotaText(const ResourceLimits& limits) {
  if (!limits.quota_cpus) return "";
  return fmt::format("this container may use {:.2f} CPUs ({})", *limits.quota_cpus, limits.quota_key);
}

std::string ThrottlingText(const ResourceLimits& before, const ResourceLimits& after) {
  if (!Increased(before.throttled_time, after.throttled_time)) return "";
  std::string text = fmt::format("{}; it was stopped for {:.1f} s", QuotaText(after),
                                 static_cast<double>(*after.throttled_time - *before.throttled_time) / 1e9);
  if (Increased(before.periods, after.periods) &&
      Increased(before.throttled_periods, after.throttled_periods)) {
    text += fmt::format(", in {:.0f}% of the quota's periods",
                        100 * static_cast<double>(*after.throttled_periods - *before.throttled_periods) /
                            static_cast<double>(*after.periods - *before.periods));
  }
  return text;
}

std::string LimitsText(const ResourceLimits& limits) {
  std::vector<std::string> parts;
  if (limits.quota_cpus)
    parts.push_back(fmt::format("{:.2f} CPUs ({})", *limits.quota_cpus, limits.quota_key));
  if (!limits.cpuset.empty()) parts.push_back("cpuset " + limits.cpuset);
  if (!limits.affinity.empty()) parts.push_back("affinity " + limits.affinity);
  if (limits.memory_limit)
    parts.push_back(FormatBytes(static_cast<double>(*limits.memory_limit)) + " of memory");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string OutOfMemoryText(const ResourceLimits& before, const ResourceLimits& after) {
  if (!Increased(before.oom_kills, after.oom_kills)) return "";
  if (after.memory_limit && Increased(before.memory_limit_hits, after.memory_limit_hits))
    return fmt::format("the container's memory limit of {} is used up",
                       FormatBytes(static_cast<double>(*after.memory_limit)));
  return "the device's memory is used up";
}

}  // namespace etprof
