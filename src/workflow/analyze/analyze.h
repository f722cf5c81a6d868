#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "etdump/reader.h"
#include "etdump/trace.h"
#include "measure/store/run_data.h"
#include "program/program.h"
#include "program/source/source_map.h"
#include "report/report.h"
#include "workflow/analyze/analysis_files.h"

namespace etprof {

// Reads a results directory and writes nothing: ETDumps that a killed measurement left in parts are merged in
// memory. Throws as LoadRunDirectory.
RunData OpenRunDirectory(const std::filesystem::path& folder);
// One results directory, or ETDumps and timeline CSVs as one run. Throws likewise, and Error (kUsage,
// `one_folder`) where a results directory stands among several paths.
RunData OpenRun(const std::vector<std::string>& paths,
                const std::string& one_folder = "give one results directory");

// Where a program's instructions come from, by an .etrecord.
struct RecordedSources {
  std::optional<SourceMap> map;
  std::string problem;    // why there is none: "there is no net.pte.etrecord", or it cannot be read
  bool is_there = false;  // the file
};
// Reads `etrecord`, or where that is empty the one next to the .pte. Throws Error (kBadInput) for one that
// was named and cannot be read.
RecordedSources ReadSources(const Program& program, const std::filesystem::path& model,
                            const std::filesystem::path& etrecord = {});

// How the traces of a run are read.
struct ReadOptions {
  bool tolerant = true;  // a file that cannot be read is a warning of its experiment; else its Error goes on
  bool join = true;      // operators are joined to the program that ran
  EtdumpOptions etdump = {};
  // Instead of the one next to the model; empty: that one. Throws Error (kUsage) where no program is at hand.
  std::filesystem::path etrecord = {};
  bool model_was_named = false;  // by the user: throws Error (kBadInput) for one that did not write the trace
};

// Throws Error (kUsage) where ticks of another clock are asked for than that of etprof's runner, which
// measured the run.
void RequireClockOf(const RunData& run, const EtdumpOptions& etdump);

// Called for each experiment's trace while it is in memory: a trace is large, a profile is not.
using TraceVisitor = std::function<void(const ExperimentData&, const Trace&, const Profile&)>;

// The profiles of the experiments' traces (ETDumps, or timeline CSVs), index by index; absent where there is
// none. A bare ETDump of several methods (AttributeMethods) becomes one experiment for each, and a pair of
// two such one for each of their methods.
std::vector<std::optional<Profile>> ProfileRun(RunData& run, const ReadOptions& options = {},
                                               const TraceVisitor& visit = {});

// What is true of a run; nothing is written.
Report ReportOf(RunData run, const ReadOptions& options = {});

// The same, and writes its files. Throws Error when a file cannot be written. `visit` sees each trace, before
// the files that are made of it.
Report AnalyzeInto(RunData run, const OutputFolders& folders, const ReadOptions& options = {},
                   const TraceVisitor& visit = {});

struct AnalyzeOptions {
  std::filesystem::path output = {};  // of all files; empty: a results directory itself, of bare traces none
  bool timeline = true;               // write the per-event CSV files
  std::filesystem::path model = {};   // of bare traces: the .pte that ran
  ReadOptions read = {};              // of bare traces never tolerant
};
// Analyzes a results directory, or ETDumps and timeline CSVs. Throws Error.
Report AnalyzeRunDirectory(const std::filesystem::path& folder, const AnalyzeOptions& options = {});
Report AnalyzeTraces(const std::vector<std::filesystem::path>& files, const AnalyzeOptions& options = {});

}  // namespace etprof
