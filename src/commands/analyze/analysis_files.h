#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "commands/terminal/output.h"
#include "core/file/file.h"
#include "format/etdump/trace.h"
#include "measure/store/run_data.h"
#include "profile/analysis/profile.h"
#include "report/kernels/kernels.h"
#include "report/report.h"

namespace etprof {

// The files of an analysis to write, and their folders.
struct OutputFolders {
  std::filesystem::path report;       // folder of analysis_summary.json, pipeline_summary.*, report.md
  std::filesystem::path tables = {};  // folder of the CSV files; empty: TableFolder() decides
  bool write_timelines = true;        // also write the per-event CSV files
  // Receives each file. By default, an analysis that is up to date is not written again.
  FileWriter write = WriteFileIfChanged;
  std::string title = {};  // title of report.md and report.html; empty: the model's name

  // Returns the folder for the CSV files of `input` (an ETDump or a log): the folder of `input` if that lies
  // beneath `report`, else `report` itself. A manifest may name any file, and a folder may be a link.
  std::filesystem::path TableFolder(const std::filesystem::path& input) const;
};

// Throws Error (kBadInput) if `folder` ("": the current one) has a report.md or report.html but is not a
// results directory of etprof or the SME2 profiling kit: the reports may be the user's own. `option` is the
// option that names another folder, for the hint.
void RefuseForeignReports(const std::filesystem::path& folder, const std::string& option);

// Writes the files of one analysis. Throws as OutputFolders::write.
class AnalysisFiles {
 public:
  explicit AnalysisFiles(const OutputFolders& folders) : folders_(folders) {}

  // Writes the event tables of experiment `index` while its trace is in memory; traces are too large to keep
  // for the report.
  void WriteTrace(std::size_t index, const ExperimentData& data, const Trace& trace, const Profile& profile);
  // Writes all files made from the finished report, and completes the report's list of artifacts.
  void WriteReport(Report& report, const KernelReport& kernels);
  // Writes <model>_comparison.csv and <model>_robust_comparison.json. If several pairs are compared, each
  // pair has its own files, named <model>_<candidate>_vs_<baseline>_comparison.csv. In a results directory,
  // which already has such files, they are named <model>_compared_....
  void WriteComparisons(const Report& report);

 private:
  struct File {
    std::filesystem::path path;
    std::function<void(std::ostream&)> contents;
  };

  void AddSummaries(const Report& report, const ReportExperiment& experiment);
  void AddComparisons(const Report& report, const std::string& suffix = "");
  void AddKernels(const KernelReport& kernels);
  void ListArtifacts(Report& report) const;
  // Renders the pending files on all cores, then writes them in order.
  void WritePending();

  const OutputFolders& folders_;
  std::set<std::string> used_stems_;                // stems in use, to keep them unique
  std::vector<std::filesystem::path> table_stems_;  // folder and stem of the tables, by experiment
  std::vector<std::filesystem::path> written_files_;
  std::vector<File> pending_;  // `contents` refer to objects that live until WritePending()
};

}  // namespace etprof
