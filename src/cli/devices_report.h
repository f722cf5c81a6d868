#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/report.h"

namespace etprof {

struct DevicesReportOptions {
  bool json = false;       // the JSON on stdout in place of the screen
  bool only_json = false;  // and no file is written
  bool all = false;        // of the screen: each device's own, too
  bool quiet = false;      // no screen: the name of the Markdown file alone
  std::string out = {};    // the Markdown file, or its folder; empty: see FolderOfReport
  std::string title = {};
};

// The report over several runs: devices_report.md and, beside it, devices_report.json, and what is shown on
// stdout. Throws Error where a file cannot be written.
void WriteAndShowDevices(std::vector<Report> runs, const DevicesReportOptions& options);

// The folder that holds all of the run directories; where they lie in different ones, the current folder.
std::filesystem::path FolderOfReport(const std::vector<Report>& runs);

}  // namespace etprof
