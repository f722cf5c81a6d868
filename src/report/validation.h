#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "core/json/describe.h"

namespace etprof {

// What is wrong with a results directory.
struct Finding {
  enum class Severity {
    kBroken,   // a promise is broken
    kWarning,  // worth knowing; the directory is none the worse for it, or never promised it
  };
  Severity severity = Severity::kBroken;
  std::string check;    // CheckInfo::name (validate/findings.h)
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

// What `etprof validate` finds in a results directory.
struct Validation {
  std::string run;
  bool foreign = false;
  std::vector<Finding> findings;

  std::ptrdiff_t Count(Finding::Severity severity) const {
    return std::ranges::count(findings, severity, &Finding::severity);
  }
  bool AllWell() const { return Count(Finding::Severity::kBroken) == 0; }

  static void Describe(auto& v) {
    v("run", &Validation::run);
    v("ok", &Validation::AllWell, {.meaning = "nothing is broken"});
    v("foreign", &Validation::foreign, {.meaning = "not of etprof: it promises less"});
    v("findings", &Validation::findings);
  }
};

struct Validations {
  std::vector<Validation> runs;

  bool AllWell() const { return std::ranges::all_of(runs, &Validation::AllWell); }

  static void Describe(auto& v) {
    v.Constant("schema_version", 1);
    v("runs", &Validations::runs, {.some = true});
  }
};

}  // namespace etprof
