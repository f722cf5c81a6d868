#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "cli/file_sink.h"
#include "cli/run_programs.h"
#include "etdump/reader.h"
#include "etdump/trace.h"
#include "measure/store/run_data.h"
#include "render/screen/terminal.h"
#include "report/report.h"

namespace etprof {

// Called for each experiment's trace while it is in memory: a trace is large, a profile is not.
using TraceVisitor = std::function<void(const ExperimentData&, const Trace&, const Profile&)>;

// Reads a run directory, after merging what a killed measurement left unmerged. Throws as LoadRunDirectory.
RunData OpenRunDirectory(const std::filesystem::path& folder);

// Throws Error (kUsage) where ticks of another clock are asked for than that of etprof's runner, which
// measured the run.
void RequireClockOf(const RunData& run, const EtdumpOptions& etdump);

// The profiles of the experiments' traces (ETDumps, or timeline CSVs), index by index; absent where there is
// none. With `tolerant`, a file that cannot be read becomes a warning of its experiment; else its Error goes
// on. A bare ETDump of several methods (AttributeMethods) becomes one experiment for each, and a pair of two
// such one for each of their methods. With `programs`, operators are joined to the program that ran.
std::vector<std::optional<Profile>> ProfileRun(RunData& run, bool tolerant, const TraceVisitor& visit = {},
                                               const EtdumpOptions& etdump = {},
                                               RunPrograms* programs = nullptr);

// Which of an analysis's files to write, and where.
struct OutputFolders {
  std::filesystem::path report;  // of analysis_summary.json, pipeline_summary.*, report.md
  std::filesystem::path tables;  // of the CSV files; empty: TablesOf
  bool timeline = true;          // the per-event CSV files too
  FileSink write = ToDisk;       // what becomes of each
  std::string title = {};        // of report.md and report.html, in place of the model's name

  // Of the CSV files that are made of `input` (an ETDump, a log): beside it where it lies in `report`'s
  // folder, else `report` itself. A manifest may name any file, and a folder may be a link.
  std::filesystem::path TablesOf(const std::filesystem::path& input) const;
};

// Profiles the run, writes its files and returns the report. Throws Error when a file cannot be written.
// `visit` sees each trace, before the files that are made of it.
Report AnalyzeInto(RunData run, const OutputFolders& folders, bool tolerant, RunPrograms& programs,
                   const EtdumpOptions& etdump = {}, const TraceVisitor& visit = {});

// Shows a report on stdout: the screen for a person, or analysis_summary.json's text. `all`: as
// TerminalOptions.
void ShowReport(const Report& report, bool json, const std::string& more, bool all = false);

}  // namespace etprof
