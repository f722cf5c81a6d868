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
#include "measure/run_data.h"
#include "validate/findings.h"

namespace etprof {

// Checks every promise of a run directory (AllChecks), reads only, and never stops at the first.
//
//   Validator validator(folder);
//   for each ETDump that could be read: validator.CheckTrace(data, trace, profile);
//   std::vector<Finding> findings = validator.Finish();
class Validator {
 public:
  // Throws Error (kBadInput) for what is no run directory.
  explicit Validator(const std::filesystem::path& folder);

  // As it was loaded; for whoever reads its ETDumps.
  const RunData& run() const { return run_; }
  // Another tool's, or a folder of ETDumps: what etprof promises beyond them is a warning where it is
  // missing.
  bool foreign() const { return foreign_; }
  // Another etprof measures into it: nothing else can be said of it yet.
  bool locked() const { return locked_; }

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

  // What ended before its end may not have been analysed.
  bool analysis_promised() const { return run_.status == RunData::Status::kComplete; }
  std::string Relative(const std::filesystem::path& file) const;
  void CheckLock();
  void CheckFinished();
  void CheckManifest();
  void CheckMetrics();
  void CheckNamedFiles();
  void CheckKernels();
  void CheckLatencies(const nlohmann::json& result);
  void CheckPeaks();
  void CheckAnalysis();
  void CheckAnalysisOfTraces(const nlohmann::json& summary);
  void CheckOtherCsvFiles();
  void CheckHashes();
  // A JSON file of the run directory, held against its schema; discarded where it cannot be used.
  nlohmann::json ReadJson(const std::string& name);
  void CheckSame(std::string_view check, const std::filesystem::path& file,
                 const std::function<void(std::ostream&)>& render, const char* source = "ETDump");

  RunData run_;
  nlohmann::json manifest_;  // discarded where there is none of etprof's
  bool foreign_ = false;
  bool locked_ = false;
  Findings findings_;
  std::set<std::filesystem::path> compared_;  // CSV files that another check than "csv" has looked at
  std::map<std::pair<std::string, int>, TraceFacts> traces_;  // by experiment and threads
};

// The tables of analysis_summary.json, which fits its schema: the rows of each add up to its whole, those of
// a comparison to its delta.
void CheckSums(const nlohmann::json& summary, Findings& findings);

}  // namespace etprof
