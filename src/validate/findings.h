#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/validation.h"

namespace etprof {

// The checks of results directories, in the order of their findings. docs/reference/files.md says what each
// verifies.
inline constexpr std::string_view kChecks[] = {"lock",
                                               "finished",
                                               "manifest",
                                               "metrics",
                                               "config",
                                               "files",
                                               "etdump",
                                               "run_counts",
                                               "latency_csv",
                                               "latency_counts",
                                               "latency_values",
                                               "analysis_summary",
                                               "pipeline_summary",
                                               "peaks",
                                               "watch",
                                               "sums",
                                               "deltas",
                                               "timeline",
                                               "ops_stats",
                                               "kernels",
                                               "derived",
                                               "csv",
                                               "sha256"};

// Collects findings. Keeps at most kMaxPerFile per check and file, and counts the others.
class Findings {
 public:
  // Throws std::logic_error for a check that is not in kChecks.
  void AddViolation(std::string_view check, const std::string& file, const std::string& problem) {
    Add(ValidationFinding::Severity::kBroken, check, file, problem);
  }
  void AddWarning(std::string_view check, const std::string& file, const std::string& problem) {
    Add(ValidationFinding::Severity::kWarning, check, file, problem);
  }
  bool HasViolation(std::string_view check) const;
  bool HasFile(const std::string& file) const;  // a finding of any severity

  // The findings in the order of kChecks, then in the order in which they were added.
  std::vector<ValidationFinding> Take();

 private:
  static constexpr std::size_t kMaxPerFile = 5;
  struct Repetition {
    ValidationFinding example;
    std::size_t count = 0;  // all findings like `example`, including those in findings_
  };
  void Add(ValidationFinding::Severity severity, std::string_view check, const std::string& file,
           const std::string& problem);
  std::vector<ValidationFinding> findings_;
  std::vector<Repetition> repetitions_;
};

}  // namespace etprof
