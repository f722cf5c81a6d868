#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/validation.h"

namespace etprof {

// What a results directory promises, one row a check (docs/reference/files.md has the same table for people).
struct CheckInfo {
  std::string_view name;
  std::string_view promise;
};
const std::vector<CheckInfo>& AllChecks();

// Collects findings. Of one check and file at most kMost are kept, and then how many more there were.
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

  // In the order of AllChecks(), then as they came.
  std::vector<Finding> Take();

 private:
  static constexpr std::size_t kMost = 5;
  struct More {
    Finding like;
    std::size_t count = 0;  // with those that were kept
  };
  void Add(Finding::Severity severity, std::string_view check, const std::string& file,
           const std::string& problem);
  std::vector<Finding> findings_;
  std::vector<More> counts_;
};

}  // namespace etprof
