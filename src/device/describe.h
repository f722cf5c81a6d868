#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/properties.h"
#include "isa/features.h"

// What people are told of a device.
namespace etprof {

// Its features by the names of isa/features.h, the widest first.
std::vector<std::string> FeaturesOf(const DeviceProperties& properties);
// Without those that are everywhere, or that no kernel is chosen by.
std::vector<std::string> TellingFeatures(const DeviceProperties& properties);
std::vector<std::string> TellingFeatures(const isa::FeatureSet& detected);
bool HasSme2(const DeviceProperties& properties);
// Of its CPUs, each once, sorted.
std::vector<std::string> GovernorsOf(const DeviceProperties& properties);
// "performance, schedutil"; a history tells machines apart by it. "" where it is not known.
std::string GovernorText(const std::optional<DeviceProperties>& properties);

}  // namespace etprof
