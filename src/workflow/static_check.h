#pragma once

#include <filesystem>

#include "report/static_check.h"

namespace etprof {

struct StaticCheckOptions {
  std::filesystem::path baseline;  // a .pte; empty: limits of the candidate alone are checked
  std::filesystem::path candidate;
  std::filesystem::path thresholds;  // a file of limits; empty: none
  StaticLimits limits;               // before those of the file
  bool require_conclusive = false;   // what cannot be decided counts as failed
};

// Reads the .etrecord next to each program, where there is one that fits. Throws Error (kBadInput) for what
// is no .pte, and for limits that cannot be read, or are none.
StaticCheck CheckStaticFiles(const StaticCheckOptions& options);

}  // namespace etprof
