#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/validation.h"

namespace etprof {

// An invariant of results directories that a check verifies (docs/reference/files.md has the same table for
// users).
struct CheckInfo {
  std::string_view name;
  std::string_view invariant;
};
const std::vector<CheckInfo>& AllChecks();

// Collects findings. Keeps at most kMaxPerFile per check and file, and counts the others.
class Findings {
 public:
  // Throws std::logic_error for a check that is not in AllChecks().
  void Broken(std::string_view check, const std::string& file, const std::string& problem) {
    Add(Finding::Severity::kBroken, check, file, problem);
  }
  void Warn(std::string_view check, const std::string& file, const std::string& problem) {
    Add(Finding::Severity::kWarning, check, file, problem);
  }
  bool HasBroken(std::string_view check) const;
  bool HasFile(const std::string& file) const;  // broken or a warning

  // The findings in the order of AllChecks(), then in the order in which they were added.
  std::vector<Finding> Take();

 private:
  static constexpr std::size_t kMaxPerFile = 5;
  struct Repetition {
    Finding example;
    std::size_t count = 0;  // including those that were kept
  };
  void Add(Finding::Severity severity, std::string_view check, const std::string& file,
           const std::string& problem);
  std::vector<Finding> findings_;
  std::vector<Repetition> counts_;
};

}  // namespace etprof
