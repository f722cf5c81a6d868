#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/analyze/analysis_files.h"
#include "format/etdump/reader.h"
#include "format/etdump/trace.h"
#include "format/program/program.h"
#include "format/program/source/source_map.h"
#include "measure/store/run_data.h"
#include "profile/analysis/profile.h"
#include "report/report.h"
#include "report/validation.h"

namespace etprof {

// Reads a results directory without writing: the partial ETDumps of an interrupted measurement are merged in
// memory. Throws as LoadRunDirectory.
RunData OpenRunDirectory(const std::filesystem::path& folder);
// Opens one results directory, or ETDumps and timeline CSVs as one run. Throws as OpenRunDirectory, and Error
// (kUsage, with `single_folder_message`) if a results directory is among several paths.
RunData OpenRun(const std::vector<std::string>& paths,
                const std::string& single_folder_message = "give one results directory");

// The modules and source lines of a program's instructions, from an .etrecord.
struct RecordedSources {
  std::optional<SourceMap> map;
  std::string problem;       // why `map` is absent: "there is no net.pte.etrecord", or the reader's error
  bool file_exists = false;  // whether the .etrecord exists
};
// Reads `etrecord`, or if it is empty, the .etrecord next to the .pte. Throws Error (kBadInput) if `etrecord`
// is given and cannot be read.
RecordedSources ReadSources(const Program& program, const std::filesystem::path& model,
                            const std::filesystem::path& etrecord = {});

// Options for reading the traces of a run.
struct ReadOptions {
  // True: an unreadable file becomes a warning of its experiment; false: its Error is thrown.
  bool tolerant = true;
  bool join = true;  // join operators to the program that ran
  EtdumpOptions etdump = {};
  // The .etrecord to use; empty: the .etrecord next to the model. If it is given and no program is
  // found, ProfileRun throws Error (kUsage).
  std::filesystem::path etrecord = {};
  // True if the user named the model. Throws Error (kBadInput) if that program did not write the trace.
  bool model_was_named = false;
};

// Throws Error (kUsage) if etprof measured the run and `etdump` assumes another clock than that of etprof's
// runner.
void RequireRunnerClock(const RunData& run, const EtdumpOptions& etdump);

// Called for each experiment while its trace is in memory; traces are too large to keep, profiles are not.
using TraceVisitor = std::function<void(const ExperimentData&, const Trace&, const Profile&)>;

// Returns the profile of each experiment's trace (an ETDump or a timeline CSV); absent for experiments
// without a trace. A bare ETDump of several methods (AttributeMethods) becomes one experiment for each
// method, and a pair of two such experiments becomes one pair for each method.
std::vector<std::optional<Profile>> ProfileRun(RunData& run, const ReadOptions& options = {},
                                               const TraceVisitor& visit = {});

// Profiles the run and assembles its report without writing anything.
Report MakeReport(RunData run, const ReadOptions& options = {});

// Makes the report as MakeReport does, and writes the files of the analysis. Throws Error if a file cannot be
// written. `visit` sees each trace before the files made from it are written.
Report AnalyzeAndWrite(RunData run, const OutputFolders& folders, const ReadOptions& options = {},
                       const TraceVisitor& visit = {});

struct AnalyzeOptions {
  // Folder of all files; empty: the results directory itself; for bare traces nothing is written.
  std::filesystem::path output = {};
  bool write_timelines = true;       // write the per-event CSV files
  std::filesystem::path model = {};  // for bare traces: the .pte that ran
  ReadOptions read = {};             // `tolerant` is ignored for bare traces
};
// Analyzes a results directory, or ETDumps and timeline CSVs. Throws Error.
Report AnalyzeRunDirectory(const std::filesystem::path& folder, const AnalyzeOptions& options = {});
Report AnalyzeTraces(const std::vector<std::filesystem::path>& files, const AnalyzeOptions& options = {});

// Validates a results directory without changing it. Throws Error (kBadInput) if `folder` is not a results
// directory.
Validation ValidateRun(const std::string& folder);
// Merges the parts of an interrupted measurement, analyzes the run, and validates it. Throws as ValidateRun,
// RecoverRunDirectory, and AnalyzeRunDirectory.
Validation RecoverRun(const std::string& folder);

}  // namespace etprof
