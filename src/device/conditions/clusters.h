#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "device/properties.h"

namespace etprof {

// CPUs with the same capacity and maximum frequency.
struct CpuCluster {
  std::string name;                      // as `cpus=` takes it (see FindCpuClusters)
  std::string model;                     // "Cortex-A520"; empty: not known, or not the same for all
  std::vector<int> cpus;                 // ascending
  std::optional<std::int64_t> max_khz;   // cpuinfo_max_freq
  std::optional<std::int64_t> capacity;  // the kernel's relative capacity; 1024: the largest core

  static void Describe(auto& v) {
    v("name", &CpuCluster::name, {.meaning = "as `cpus=` takes it"});
    v("cpus", &CpuCluster::cpus, {.meaning = "their numbers, ascending"});
    v("model", &CpuCluster::model, {.meaning = "empty: not known, or not the same for all"});
    v("max_khz", &CpuCluster::max_khz, {.meaning = "cpuinfo_max_freq"});
    v("capacity", &CpuCluster::capacity, {.meaning = "the kernel's; 1024 is the largest core"});
  }
};

// Groups the online CPUs into clusters, the slowest first. CPUs are compared by capacity, then by maximum
// frequency; a value that the kernel does not report for each CPU is ignored. A single cluster is called
// "all"; the slowest of several is "little", the fastest "big", and those in between "mid" or "mid1", "mid2",
// ... Empty if no CPU is known.
std::vector<CpuCluster> FindCpuClusters(const DeviceProperties& properties);

// Checks a set of CPUs as users write it, without a device: a set that ParseCpus accepts, or names of
// clusters separated by commas ("big", "mid,big"). Throws Error (kUsage) for anything else.
void CheckCpus(std::string_view text);
// Resolves a set of CPUs as users write it to CPU numbers of a device, ascending, without duplicates. Throws
// Error: kUsage as CheckCpus does, kBadInput for a cluster that the device does not have.
std::vector<int> ResolveCpus(std::string_view text, const DeviceProperties& properties);

// Describes a cluster: "4 x Cortex-A520 1.95 GHz (little)", "2 x 3.20 GHz", "2 CPUs".
std::string ClusterText(const CpuCluster& cluster);

}  // namespace etprof
