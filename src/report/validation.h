#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"

namespace etprof {

// A problem of a results directory.
struct ValidationFinding {
  enum class Severity {
    kBroken,   // an invariant is violated
    kWarning,  // worth knowing, but no invariant is violated
  };
  Severity severity = Severity::kBroken;
  std::string check;  // one of kChecks (validate/findings.h)
  std::string file;   // relative to the results directory; "." for the directory itself
  std::string problem;

  static void Describe(auto& v) {
    v("severity", &ValidationFinding::severity,
      {.meaning = "`warning`: worth knowing, no promise is broken"});
    v("check", &ValidationFinding::check, {.meaning = "its name in docs/reference/files.md"});
    v("file", &ValidationFinding::file,
      {.meaning = "relative to the results directory; \".\": the directory itself"});
    v("problem", &ValidationFinding::problem, {.meaning = "one clause"});
  }
};
template <>
inline constexpr const char* kNames<ValidationFinding::Severity>[] = {"broken", "warning"};

// The findings of `etprof validate` in a results directory, or of `etprof recover` after the recovery.
struct Validation {
  std::string run;
  bool has_foreign_layout = false;
  std::vector<ValidationFinding> findings;
  std::optional<bool> recovered = {};  // only for recover; false: nothing to recover

  std::ptrdiff_t Count(ValidationFinding::Severity severity) const {
    return std::ranges::count(findings, severity, &ValidationFinding::severity);
  }
  bool Passes() const { return Count(ValidationFinding::Severity::kBroken) == 0; }

  static void Describe(auto& v) {
    v("run", &Validation::run, {.meaning = "the results directory"});
    v("recovered", &Validation::recovered,
      {.meaning = "of `etprof recover`: whether a killed measurement left something to merge",
       .omit_if_empty = true});
    v("ok", &Validation::Passes, {.meaning = "nothing is broken"});
    v("foreign", &Validation::has_foreign_layout, {.meaning = "not of etprof: it promises less"});
    v("findings", &Validation::findings, {.meaning = "promises that are broken, and what is worth knowing"});
  }
};

struct Validations {
  std::vector<Validation> runs;

  bool Passes() const { return std::ranges::all_of(runs, &Validation::Passes); }

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("runs", &Validations::runs, {.meaning = "as given", .non_empty = true});
  }
};

}  // namespace etprof
