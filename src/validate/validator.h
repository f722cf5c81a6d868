#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/etdump/trace.h"
#include "measure/store/run_data.h"
#include "profile/analysis/profile.h"
#include "validate/findings.h"

namespace etprof {

// Checks all invariants of a results directory (kChecks). It only reads, and reports all problems.
//
//   Validator validator(folder);
//   for each ETDump that could be read: validator.CheckTrace(data, trace, profile);
//   for each file that analysis derives from the run, if can_rebuild(): validator.CheckDerived(file, render);
//   std::vector<ValidationFinding> findings = validator.Finish();
class Validator {
 public:
  // `etprof_version` is this etprof's; files of another version may differ. Throws Error (kBadInput) unless
  // `folder` is a results directory.
  Validator(const std::filesystem::path& folder, std::string etprof_version);

  // The run as loaded, for callers that read its ETDumps.
  const RunData& run() const { return run_; }
  // True if another tool wrote the directory, or if it is a folder of ETDumps. Missing files that only etprof
  // writes are warnings then.
  bool has_foreign_layout() const { return has_foreign_layout_; }
  // True while another etprof measures into the directory, so that nothing else can be checked.
  bool locked() const { return locked_; }

  // True if the analysis can be repeated, to compare its files with those in the directory.
  bool can_rebuild() const { return !locked_ && !has_foreign_layout_ && manifest_.is_object(); }
  // Options of the stored analysis: whether it wrote per-event CSVs, and whether it included ETDumps that the
  // manifest does not name.
  bool analyzed_with_timeline() const;
  bool analyzed_with_unlisted_etdumps() const;

  // Compares `file`, a file of the analysis, with the output of `render`.
  void CheckDerived(const std::filesystem::path& file, const std::function<void(std::ostream&)>& render);
  // Checks the trace read from data.etdump; `profile` is made from `trace`.
  void CheckTrace(const ExperimentData& data, const Trace& trace, const Profile& profile);
  // Records that `data.etdump` could not be read, with the reason.
  void ReportUnreadable(const ExperimentData& data, const std::string& problem);

  std::vector<ValidationFinding> Finish();

 private:
  // Values from a trace, which the analysis must contain.
  struct TraceFacts {
    std::int64_t runs = 0;
    Nanoseconds total = 0;  // sum of the self times over the common set of runs
  };

  // Only complete runs must have an analysis.
  bool must_have_analysis() const { return run_.status == RunData::Status::kComplete; }
  // A file of the analysis that does not match the data.
  struct Difference {
    std::string check, file, problem;
  };
  void CheckConfig();
  void CheckDifferences();
  bool InputsAreValid() const;
  // Reports the difference: as a warning if the file may come from other data or another etprof.
  void ReportDifference(const Difference& difference);
  std::string Relative(const std::filesystem::path& file) const;
  void CheckFinished();
  void CheckManifest();
  void CheckMetrics();
  void CheckNamedFiles();
  // Returns whether the file exists and is not empty. `problem_prefix` begins the finding of a missing file:
  // "the manifest names it, and it ", or "".
  bool CheckNamedFile(const std::string& name, const std::string& problem_prefix, bool is_required = true);
  void CheckKernels();
  void CheckLatencies(const nlohmann::json& result);
  void CheckPeaks();
  void CheckWatch();
  void CheckAnalysis();
  void CheckAnalysisOfTraces(const nlohmann::json& summary);
  void CheckOtherCsvFiles();
  // Calls `visit` for every entry of the results directory, except those in `previous` folders; `visit` may
  // stop the iterator from entering a folder.
  void ForEachEntry(const std::function<void(std::filesystem::recursive_directory_iterator&)>& visit) const;
  void CheckHashes();
  // A JSON file of the results directory that fits its schema; discarded if it cannot be used.
  nlohmann::json ReadJson(const std::string& name);
  // Compares a CSV file with the output of `render`. `source` is what the file was made from.
  void CompareFile(std::string_view check, const std::filesystem::path& file,
                   const std::function<void(std::ostream&)>& render, const char* source = "ETDump");

  RunData run_;
  std::string etprof_version_;
  nlohmann::json manifest_;  // discarded if it cannot be read
  nlohmann::json summary_;   // analysis_summary.json; discarded if it cannot be read
  bool has_foreign_layout_ = false;
  bool locked_ = false;
  Findings findings_;
  std::set<std::filesystem::path> compared_;  // CSV files that a check other than "csv" has read
  std::vector<Difference> differences_;
  // Why a new analysis joins operators to other programs than the stored analysis; empty: it does not.
  std::string other_program_reason_;
  bool inputs_missing_ = false;  // a file that the analysis reads or lists is missing or empty
  std::map<std::pair<std::string, int>, TraceFacts> traces_;  // keyed by experiment and threads
};

}  // namespace etprof
