#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "device/properties.h"

namespace etprof {

// CPUs of one kind.
struct CpuCluster {
  std::string name;                      // as `cpus=` takes it; ClustersOf says which there are
  std::string model;                     // "Cortex-A520"; empty: not known, or not the same for all
  std::vector<int> cpus;                 // ascending
  std::optional<std::int64_t> max_khz;   // cpuinfo_max_freq
  std::optional<std::int64_t> capacity;  // the kernel's relative capacity, 1024 is the largest core

  static void Describe(auto& v) {
    v("name", &CpuCluster::name, {.meaning = "as `cpus=` takes it"});
    v("cpus", &CpuCluster::cpus, {.meaning = "their numbers, ascending"});
    v("model", &CpuCluster::model, {.meaning = "empty: not known, or not the same for all"});
    v("max_khz", &CpuCluster::max_khz, {.meaning = "cpuinfo_max_freq"});
    v("capacity", &CpuCluster::capacity, {.meaning = "the kernel's; 1024 is the largest core"});
  }
};

// The online CPUs by their kind, the slowest first: by capacity or, where the kernel does not give it for all
// of them, by maximum frequency. One kind is called "all"; two are "little" and "big"; what lies between is
// "mid" or, where there are several, "mid1", "mid2", ... Empty where no CPU is known.
std::vector<CpuCluster> ClustersOf(const DeviceProperties& properties);

// CPUs as users name them: as ParseCpus takes them, or clusters by their names, separated by commas ("big",
// "mid,big"). Throws Error (kUsage) for what is neither, whatever the device.
void CheckCpus(std::string_view text);
// Their numbers on a device, ascending, each once. Throws also Error (kBadInput) for a cluster that it has
// not.
std::vector<int> CpusOf(std::string_view text, const DeviceProperties& properties);

// "4 x Cortex-A520 1.95 GHz (little)", "2 x 3.20 GHz", "2 CPUs".
std::string ClusterText(const CpuCluster& cluster);

}  // namespace etprof
