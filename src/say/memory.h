#pragma once

#include <vector>

#include "report/report.h"
#include "say/document.h"

namespace etprof::say {

// Whose memory is whose: of each watched experiment a section, then of each pair of them what one holds more.
std::vector<Section> SayMemory(const Report& report);

}  // namespace etprof::say
