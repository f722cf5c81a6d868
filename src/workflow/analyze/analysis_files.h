#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "core/file/file.h"
#include "etdump/trace.h"
#include "measure/store/run_data.h"
#include "report/kernels/kernels.h"
#include "report/report.h"

namespace etprof {

// Takes a file that an analysis makes: its place, and what writes its contents.
using FileSink =
    std::function<void(const std::filesystem::path&, const std::function<void(std::ostream&)>& contents)>;
// Writes it there.
inline void ToDisk(const std::filesystem::path& file, const std::function<void(std::ostream&)>& contents) {
  WriteFileAtomically(file, contents);
}

// Which of an analysis's files to write, and where.
struct OutputFolders {
  std::filesystem::path report;       // of analysis_summary.json, pipeline_summary.*, report.md
  std::filesystem::path tables = {};  // of the CSV files; empty: TablesOf
  bool timeline = true;               // the per-event CSV files too
  FileSink write = ToDisk;            // what becomes of each
  std::string title = {};             // of report.md and report.html, instead of the model's name

  // Of the CSV files that are made of `input` (an ETDump, a log): beside it where it lies in `report`'s
  // folder, else `report` itself. A manifest may name any file, and a folder may be a link.
  std::filesystem::path TablesOf(const std::filesystem::path& input) const;
};

// Throws Error (kBadInput) where `folder` ("": the current one) is no results directory, of etprof or of the
// kit, and has a report.md or report.html: they may be the user's own. `option` names another folder for
// them.
void RequireOwnReports(const std::filesystem::path& folder, const std::string& option);

// The files of one analysis. Throws as OutputFolders::write.
class AnalysisFiles {
 public:
  explicit AnalysisFiles(const OutputFolders& folders) : folders_(folders) {}

  // The tables of the events of experiment `index`; a trace is large, and is not kept for the report.
  void WriteTrace(std::size_t index, const ExperimentData& data, const Trace& trace, const Profile& profile);
  // All that is made of the finished report, whose list of files it completes.
  void WriteReport(Report& report, const KernelReport& kernels);
  // <model>_comparison.csv and <model>_robust_comparison.json; where several pairs are compared, one of each
  // a pair, named <model>_<candidate>_vs_<baseline>_comparison.csv. In a results
  // directory <model>_compared_...: it has its own.
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
  // What was added, in its order; made on all cores.
  void WriteAdded();

  const OutputFolders& folders_;
  std::set<std::string> names_;               // stems that are taken
  std::vector<std::filesystem::path> stems_;  // which all tables of an experiment share, with their folder
  std::vector<std::filesystem::path> written_;
  std::vector<File> added_;  // what they write with lives until WriteAdded()
};

}  // namespace etprof
