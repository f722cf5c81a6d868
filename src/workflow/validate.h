#pragma once

#include <string>

#include "report/validation.h"

namespace etprof {

// Reads only. Throws Error (kBadInput) for what is no results directory.
Validation ValidateRun(const std::string& folder);

}  // namespace etprof
