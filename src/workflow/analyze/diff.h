#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/diff/diff.h"

namespace etprof {

struct DiffFilesOptions {
  std::filesystem::path baseline, candidate;  // .pte
  // Results directories that measured them, in any order, or an ETDump of the baseline and one of the
  // candidate; empty: without times.
  std::vector<std::string> runs;
};

struct DiffOfFiles {
  ProgramDiff diff;
  std::vector<std::string> warnings;
};

// Reads the .etrecord beside each, where there is one. Throws Error (kBadInput) for what is no .pte, and for
// runs of other programs.
DiffOfFiles DiffFiles(const DiffFilesOptions& options);

}  // namespace etprof
