#pragma once

#include <string>

#include "report/validation.h"

namespace etprof {

// Validates a results directory without changing it. Throws Error (kBadInput) if `folder` is not a results
// directory.
Validation ValidateRun(const std::string& folder);
// Merges the parts of an interrupted measurement, analyzes the run, and validates it. Throws as ValidateRun,
// RecoverRunDirectory, and AnalyzeRunDirectory.
Validation RecoverRun(const std::string& folder);

}  // namespace etprof
