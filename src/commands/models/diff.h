#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/diff/diff.h"

namespace etprof {

struct DiffFilesOptions {
  std::filesystem::path baseline, candidate;  // .pte
  // Results directories that measured the programs, in any order, or an ETDump of the baseline and one of the
  // candidate; empty: the diff has no times.
  std::vector<std::string> runs;
};

struct DiffResult {
  ProgramDiff diff;
  std::vector<std::string> warnings;
};

// Compares two programs; reads the .etrecord next to each if there is one. Throws Error (kBadInput) for a
// file that is not a .pte, and for runs of other programs.
DiffResult DiffFiles(const DiffFilesOptions& options);

}  // namespace etprof
