#pragma once

#include "report/cpu_features.h"
#include "say/document.h"

namespace etprof::say {

// What a CPU has, and what can be measured with it.
Document SayCpuFeatures(const CpuFeatures& cpu);

}  // namespace etprof::say
