#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/properties.h"
#include "isa/features.h"

namespace etprof {

// The CPU features of a device, named as in isa/features.h, the widest first.
std::vector<std::string> CpuFeatureNames(const DeviceProperties& properties);
// The CPU features, except for features that every CPU has and features that select no kernels.
std::vector<std::string> NotableFeatures(const DeviceProperties& properties);
std::vector<std::string> NotableFeatures(const isa::FeatureSet& detected);
bool HasSme2(const DeviceProperties& properties);
// The cpufreq governors of all CPUs, sorted, without duplicates.
std::vector<std::string> CpuGovernors(const DeviceProperties& properties);
// The governors as text: "performance, schedutil"; empty: not known. A history distinguishes machines by this
// text.
std::string GovernorText(const std::optional<DeviceProperties>& properties);

}  // namespace etprof
