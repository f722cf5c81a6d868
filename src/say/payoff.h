#pragma once

#include <vector>

#include "report/report.h"
#include "say/document.h"

namespace etprof::say {

// What each level of the ISA gains at each number of threads, and where it no longer pays off. Of a ladder of
// more than two levels only those that stop: its own tables have every gain.
std::vector<Section> SayPayoffs(const Report& report);

}  // namespace etprof::say
