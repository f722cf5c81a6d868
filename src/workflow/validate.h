#pragma once

#include <string>

#include "report/validation.h"

namespace etprof {

// Reads only. Throws Error (kBadInput) for what is no results directory.
Validation ValidateRun(const std::string& folder);
// Merges what a killed measurement left, analyzes it, and validates it. Throws as RecoverRunDirectory and
// AnalyzeRunDirectory, too.
Validation RecoverRun(const std::string& folder);

}  // namespace etprof
