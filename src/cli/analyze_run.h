#pragma once

#include <filesystem>

namespace etprof {

struct ShowOptions {
  bool json = false;     // the report as JSON on stdout, in place of the screen
  bool timeline = true;  // write the per-event CSVs
  bool quiet = false;    // write the files, print nothing
};

// Analyses a run directory from its files, renews the files that analysis makes (CSV, JSON, report.md), and
// shows the summary on stdout. Returns the exit code.
int AnalyzeAndShow(const std::filesystem::path& run_directory, const ShowOptions& options);

}  // namespace etprof
