#pragma once

#include <string>

#include "protocol/messages.h"

namespace etprof::runner {

// Reads the CPU features from cpuinfo (in the wheel's thread-pool library), and hides those that `spec`
// (isa/features.h, ParseMask) names. XNNPACK reads cpuinfo once, when its library is loaded, so call this
// before LoadXnnpack (backends.h). An empty spec changes nothing. Throws Error (kUsage) for an invalid spec,
// and Error (kDeviceFailed) for a mask if cpuinfo's structure is not the known one.
protocol::IsaState ApplyIsaMask(const std::string& spec);

// True if ApplyIsaMask has hidden a feature.
bool IsIsaMasked();

}  // namespace etprof::runner
