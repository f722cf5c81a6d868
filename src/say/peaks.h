#pragma once

#include <string>

#include "protocol/peaks.h"
#include "say/document.h"

namespace etprof::say {

// Peak compute and bandwidth of a device, as they were measured.
Document SayPeaks(const protocol::Peaks& peaks, const std::string& device, bool emulated);

}  // namespace etprof::say
