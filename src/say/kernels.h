#pragma once

#include "report/kernels/kernels.h"
#include "say/document.h"

namespace etprof::say {

// A log is a section, then what differs between two, then what the operators' names prove.
Document SayKernels(const KernelReport& report);

}  // namespace etprof::say
