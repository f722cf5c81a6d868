#pragma once

#include <filesystem>
#include <string>

#include "format/etdump/reader.h"
#include "report/report.h"

namespace etprof {

struct CompareRunsOptions {
  // Each is an ETDump, a timeline CSV, an experiment's folder, or a results directory.
  std::string baseline, candidate;
  std::string name1, name2;           // labels, used if there is one pair; empty: the runs' own
  std::filesystem::path output = {};  // folder for comparison.*, tables; empty: nothing is written
  EtdumpOptions etdump = {};
};

// Compares two runs. Two experiments of one run were measured interleaved, so the run's own pairing applies
// to them. Throws Error (kUsage, kBadInput) for inputs that cannot be read or have nothing in common, and
// Error (kDeviceFailed) if a file cannot be written.
Report CompareRuns(const CompareRunsOptions& options);

}  // namespace etprof
