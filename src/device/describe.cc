#include "device/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "isa/features.h"

namespace etprof {

namespace {

std::vector<std::string> ListWidestFirst(isa::Architecture architecture, const isa::FeatureSet& detected) {
  std::vector<std::string> features;
  for (const isa::Feature& feature : isa::Features(architecture)) {
    if (detected.contains(std::string(feature.name))) features.emplace_back(feature.name);
  }
  std::ranges::reverse(features);
  return features;
}

std::vector<std::string> SelectNotable(std::vector<std::string> features) {
  std::erase_if(features, [](const std::string& name) {
    return name.starts_with("sse") || name.starts_with("ssse") || name == "atomics" || name == "rdm" ||
           name == "jscvt" || name == "fcma" || name == "fhm";
  });
  return features;
}

}  // namespace

std::vector<std::string> CpuFeatureNames(const DeviceProperties& properties) {
  const bool is_arm = properties.architecture.starts_with("a");  // aarch64, armv8l
  const isa::Architecture architecture = is_arm ? isa::Architecture::kAarch64 : isa::Architecture::kX86_64;
  isa::FeatureSet detected;
  for (const std::string& feature : properties.features) {
    if (const auto name = isa::CanonicalName(architecture, feature)) detected.insert(*name);
  }
  return ListWidestFirst(architecture, detected);
}

std::vector<std::string> NotableFeatures(const isa::FeatureSet& detected) {
  return SelectNotable(ListWidestFirst(isa::DetectArchitecture(detected), detected));
}

std::vector<std::string> NotableFeatures(const DeviceProperties& properties) {
  return SelectNotable(CpuFeatureNames(properties));
}

bool HasSme2(const DeviceProperties& properties) {
  const std::vector<std::string> features = CpuFeatureNames(properties);
  return std::ranges::find(features, "sme2") != features.end();
}

std::vector<std::string> CpuGovernors(const DeviceProperties& properties) {
  std::set<std::string> governors;
  for (const DeviceProperties::Cpu& cpu : properties.cpus) {
    if (!cpu.governor.empty()) governors.insert(cpu.governor);
  }
  return {governors.begin(), governors.end()};
}

std::string GovernorText(const std::optional<DeviceProperties>& properties) {
  return properties ? fmt::format("{}", fmt::join(CpuGovernors(*properties), ", ")) : "";
}

}  // namespace etprof
