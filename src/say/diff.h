#pragma once

#include <string>
#include <vector>

#include "report/diff/diff.h"
#include "say/document.h"

namespace etprof::say {

// What differs between two programs: operator by operator, with what each takes where both were measured.
// Of equal ones every table is empty. `warnings`: what the reader has to know.
Document SayDiff(const ProgramDiff& diff, const std::string& baseline, const std::string& candidate,
                 const std::vector<std::string>& warnings);

}  // namespace etprof::say
