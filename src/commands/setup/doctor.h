#pragma once

#include "report/doctor.h"

namespace etprof {

// Checks this machine: what can be measured, exported, and built here. Starts the tools to read their
// versions; changes nothing and reaches no device and no network.
DoctorReport MakeDoctorReport();
// Checks the requirements of `etprof export`.
DoctorGroup CheckExportRequirements();

}  // namespace etprof
