#pragma once

#include <string>

#include "protocol/messages.h"

namespace etprof::runner {

// Reads what this CPU has from cpuinfo (which the wheel's thread-pool library carries), and hides from it
// what `spec` (isa/features.h, ParseMask) asks to hide. XNNPACK reads cpuinfo once, when its library is
// loaded: this must be called before LoadXnnpack (backends.h). With an empty spec nothing is written. Throws
// Error (kUsage) for a bad spec, (kDeviceFailed) when a mask is asked for and cpuinfo's structure is not the
// known one.
protocol::IsaState ApplyIsaMask(const std::string& spec);

// Whether it hid anything.
bool IsIsaMasked();

}  // namespace etprof::runner
