#pragma once

#include "report/examination.h"

namespace etprof {

// Looks at this machine. Starts the tools for their versions,
// changes nothing and reaches no device and no network.
Examination ExamineThisMachine();
// What `etprof export` needs alone.
DoctorGroup ExportNeeds();

}  // namespace etprof
