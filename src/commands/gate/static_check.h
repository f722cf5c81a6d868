#pragma once

#include <filesystem>

#include "report/static_check.h"

namespace etprof {

struct StaticCheckOptions {
  std::filesystem::path baseline;  // a .pte; empty: only the limits that need no baseline are checked
  std::filesystem::path candidate;
  std::filesystem::path thresholds;  // a file with limits; empty: none
  StaticLimits limits;               // limits here take precedence over those of the file
  bool require_conclusive = false;   // an undecided check counts as failed
};

// Reads the .etrecord next to each program if there is one that belongs to it. Throws Error (kBadInput) for a
// file that is not a .pte, and for limits that cannot be read or are invalid.
StaticCheck CheckStaticFiles(const StaticCheckOptions& options);

}  // namespace etprof
