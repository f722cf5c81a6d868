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

#include "analysis/profile.h"
#include "etdump/trace.h"
#include "measure/store/run_data.h"
#include "validate/findings.h"

namespace etprof {

// Checks every promise of a results directory (AllChecks), reads only, and never stops at the first.
//
//   Validator validator(folder);
//   for each ETDump that could be read: validator.CheckTrace(data, trace, profile);
//   for each file that analysis makes of the run, if can_rebuild(): validator.CheckDerived(file, render);
//   std::vector<Finding> findings = validator.Finish();
class Validator {
 public:
  // `etprof_version`: this one's; what another wrote may differ. Throws Error (kBadInput) for what is no
  // results directory.
  Validator(const std::filesystem::path& folder, std::string etprof_version);

  // As it was loaded; for whoever reads its ETDumps.
  const RunData& run() const { return run_; }
  // Another tool's, or a folder of ETDumps: what etprof promises beyond them is a warning where it is
  // missing.
  bool foreign() const { return foreign_; }
  // Another etprof measures into it: nothing else can be said of it yet.
  bool locked() const { return locked_; }

  // Whether the analysis can be made again to hold its files against.
  bool can_rebuild() const { return !locked_ && !foreign_ && manifest_.is_object(); }
  // With which options the stored analysis was made: with the per-event CSVs, and with ETDumps that the
  // manifest does not name.
  bool analyzed_with_timeline() const;
  bool analyzed_with_bare_files() const;

  // `file` is one of the analysis's, and `render` writes what it has to be.
  void CheckDerived(const std::filesystem::path& file, const std::function<void(std::ostream&)>& render);
  // `profile` was made of `trace`, and that of data.etdump.
  void CheckTrace(const ExperimentData& data, const Trace& trace, const Profile& profile);
  // `data.etdump` could not be read, because of `problem`.
  void CannotRead(const ExperimentData& data, const std::string& problem);

  std::vector<Finding> Finish();

 private:
  // What a trace was found to have, to hold the analysis against.
  struct TraceFacts {
    std::int64_t runs = 0;
    Nanoseconds total = 0;  // of the common set
  };

  // What ended before its end may not have been analyzed.
  bool analysis_promised() const { return run_.status == RunData::Status::kComplete; }
  // A file of the analysis that is not what the data give.
  struct Difference {
    std::string check, file, problem;
  };
  void CheckConfig();
  void CheckDifferences();
  bool InputsAreSound() const;
  // What is wrong with a file of the analysis: a warning where it may be of other data or another etprof.
  void Differs(const Difference& difference);
  std::string Relative(const std::filesystem::path& file) const;
  void CheckLock();
  void CheckFinished();
  void CheckManifest();
  void CheckMetrics();
  void CheckNamedFiles();
  // Whether the file is there, with something in it. `named_by`: "the manifest names it, and it ", or "".
  bool CheckNamedFile(const std::string& name, const std::string& named_by, bool needed = true);
  void CheckKernels();
  void CheckLatencies(const nlohmann::json& result);
  void CheckPeaks();
  void CheckWatch();
  void CheckAnalysis();
  void CheckAnalysisOfTraces(const nlohmann::json& summary);
  void CheckOtherCsvFiles();
  // Gives `take` every entry of the results directory, but for those of earlier runs; it may keep the walk
  // out of a folder.
  void ForEachEntry(const std::function<void(std::filesystem::recursive_directory_iterator&)>& take) const;
  void CheckHashes();
  // A JSON file of the results directory, compared with its schema; discarded where it cannot be used.
  nlohmann::json ReadJson(const std::string& name);
  void CheckSame(std::string_view check, const std::filesystem::path& file,
                 const std::function<void(std::ostream&)>& render, const char* source = "ETDump");

  RunData run_;
  std::string etprof_version_;
  nlohmann::json manifest_;  // discarded where there is none of etprof's
  nlohmann::json summary_;   // likewise, analysis_summary.json
  bool foreign_ = false;
  bool locked_ = false;
  Findings findings_;
  std::set<std::filesystem::path> compared_;  // CSV files that another check than "csv" has looked at
  std::vector<Difference> differences_;
  std::string
      other_program_;  // why the model that operators are joined to is another than it was; empty: none
  bool inputs_missing_ = false;  // a file that the analysis reads or lists is not there, or empty
  std::map<std::pair<std::string, int>, TraceFacts> traces_;  // by experiment and threads
};

// The tables of analysis_summary.json, which fits its schema: the rows of each add up to its whole, those of
// a comparison to its delta.
void CheckSums(const nlohmann::json& summary, Findings& findings);

}  // namespace etprof
