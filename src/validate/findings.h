#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"

namespace etprof {

// What a results directory promises, one row a check (docs/reference/files.md has the same table for people).
struct CheckInfo {
  std::string_view name;
  std::string_view promise;
};
const std::vector<CheckInfo>& AllChecks();

struct Finding {
  enum class Severity {
    kBroken,   // a promise is broken
    kWarning,  // worth knowing; the directory is none the worse for it, or never promised it
  };
  Severity severity = Severity::kBroken;
  std::string check;    // CheckInfo::name
  std::string file;     // relative to the results directory; "." for the directory itself
  std::string problem;  // one clause

  static void Describe(auto& v) {
    v("severity", &Finding::severity);
    v("check", &Finding::check, {.meaning = "its name in docs/reference/files.md"});
    v("file", &Finding::file, {.meaning = "relative to the results directory; \".\": the directory itself"});
    v("problem", &Finding::problem);
  }
};
template <>
inline constexpr NamedValue<Finding::Severity> kNames<Finding::Severity>[] = {
    {Finding::Severity::kBroken, "broken"}, {Finding::Severity::kWarning, "warning"}};

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
