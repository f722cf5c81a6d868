#include "device/conditions/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/process/cpus.h"
#include "core/text/text.h"

namespace etprof {
namespace {

using Cpu = DeviceProperties::Cpu;

std::string ClusterName(std::size_t index, std::size_t count) {
  if (count == 1) return "all";
  if (index == 0) return "little";
  if (index + 1 == count) return "big";
  return count == 3 ? "mid" : fmt::format("mid{}", index);
}

bool IsClusterName(std::string_view word) {
  if (word == "all" || word == "little" || word == "big") return true;
  return word.starts_with("mid") && word.find_first_not_of("0123456789", 3) == std::string_view::npos;
}

bool AreClusterNames(std::string_view text) {
  const std::vector<std::string_view> names = SplitAt(text, ',');
  return std::ranges::all_of(names, IsClusterName);
}

}  // namespace

void CheckCpus(std::string_view text) {
  if (!AreClusterNames(text)) ParseCpus(text);
}

std::vector<int> ResolveCpus(std::string_view text, const DeviceProperties& properties) {
  if (!AreClusterNames(text)) return ParseCpus(text);
  const std::vector<CpuCluster> clusters = FindCpuClusters(properties);
  std::vector<int> cpus;
  for (const std::string_view word : SplitAt(text, ',')) {
    std::string available;
    bool found = false;
    for (const CpuCluster& cluster : clusters) {
      if (word == "all" || word == cluster.name) {
        cpus.insert(cpus.end(), cluster.cpus.begin(), cluster.cpus.end());
        found = true;
      }
      available += (available.empty() ? "" : ", ") + ClusterText(cluster);
    }
    if (found) continue;
    throw Error(
        ExitCode::kBadInput,
        fmt::format("{} has no CPUs called \"{}\"",
                    properties.name.empty() ? "the device" : fmt::format("`{}`", properties.name), word))
        .Remedy(available.empty() ? "it does not say what CPUs it has: give their numbers"
                                  : "it has " + available);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::vector<CpuCluster> FindCpuClusters(const DeviceProperties& properties) {
  const std::vector<Cpu>& cpus = properties.cpus;
  const auto all_have = [&](const std::optional<std::int64_t> Cpu::*value) {
    return std::ranges::all_of(cpus, [&](const Cpu& cpu) { return (cpu.*value).has_value(); });
  };
  const bool by_capacity = all_have(&Cpu::capacity), by_frequency = all_have(&Cpu::hardware_max_khz);
  // The key has both values: CPUs of equal capacity may differ in frequency, and vice versa.
  std::map<std::pair<std::int64_t, std::int64_t>, CpuCluster> clusters_by_speed;
  for (const Cpu& cpu : cpus) {
    CpuCluster& cluster =
        clusters_by_speed[{by_capacity ? *cpu.capacity : 0, by_frequency ? *cpu.hardware_max_khz : 0}];
    if (cluster.cpus.empty()) {
      cluster.model = cpu.model;
      if (by_capacity) cluster.capacity = cpu.capacity;
      if (by_frequency) cluster.max_khz = cpu.hardware_max_khz;
    }
    if (cluster.model != cpu.model) cluster.model.clear();
    cluster.cpus.push_back(cpu.id);
  }
  std::vector<CpuCluster> clusters;
  for (auto& [speed, cluster] : clusters_by_speed) {
    std::ranges::sort(cluster.cpus);
    cluster.name = ClusterName(clusters.size(), clusters_by_speed.size());
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

std::string ClusterText(const CpuCluster& cluster) {
  const std::size_t count = cluster.cpus.size();
  std::string text = fmt::format("{}", count);
  if (cluster.model.empty() && !cluster.max_khz) {
    text += count == 1 ? " CPU" : " CPUs";
  } else {
    text += " x";
    if (!cluster.model.empty()) text += " " + cluster.model;
    if (cluster.max_khz) text += fmt::format(" {:.2f} GHz", static_cast<double>(*cluster.max_khz) / 1e6);
  }
  if (cluster.name != "all") text += " (" + cluster.name + ")";
  return text;
}

}  // namespace etprof
