#pragma once

#include <filesystem>
#include <string>

#include "etdump/reader.h"
#include "report/report.h"

namespace etprof {

struct CompareRunsOptions {
  std::string baseline,
      candidate;             // an ETDump, a timeline CSV, an experiment's folder or a results directory
  std::string name1, name2;  // what to call them, where there is one pair; empty: as they are called
  std::filesystem::path output =
      {};  // of comparison.json, comparison.md and tables; empty: nothing is written
  EtdumpOptions etdump = {};
};

// Compares the two. Two experiments of one run were measured alternately: their run pairs them. Throws Error
// (kUsage, kBadInput) for what cannot be read or has nothing in common, (kDeviceFailed) where a file cannot
// be written.
Report CompareRuns(const CompareRunsOptions& options);

}  // namespace etprof
