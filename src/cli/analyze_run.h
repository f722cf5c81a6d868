#pragma once

#include <filesystem>
#include <string>

#include "etdump/reader.h"
#include "report/report.h"

namespace etprof {

struct ShowOptions {
  bool json = false;     // the report as JSON on stdout, in place of the screen
  bool all = false;      // of the screen: as TerminalOptions
  std::string csv = {};  // or one table of it (csv_option.h); empty: none
  bool timeline = true;  // write the per-event CSVs
  bool quiet = false;    // write the files, print nothing
  EtdumpOptions etdump = {};
  std::filesystem::path etrecord = {};  // in place of the one beside the model; empty: that one
};

// Analyses a run directory from its files and renews the files that analysis makes (CSV, JSON, report.md).
Report AnalyzeRunDirectory(const std::filesystem::path& run_directory, const ShowOptions& options);

// The same, and shows the summary on stdout. Returns the exit code.
int AnalyzeAndShow(const std::filesystem::path& run_directory, const ShowOptions& options);

}  // namespace etprof
