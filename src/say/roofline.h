#pragma once

#include <vector>

#include "report/report.h"
#include "say/document.h"

namespace etprof::say {

// How far operators are from what the machine can do, an experiment a section: those that are told of a pair
// or a ladder, and folded the others. Empty where no roofs are known.
std::vector<Section> SayRoofline(const Report& report);

}  // namespace etprof::say
