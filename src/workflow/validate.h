#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "validate/findings.h"

namespace etprof {

// What `etprof validate` finds in a results directory.
struct Validation {
  std::string run;
  bool foreign = false;
  std::vector<Finding> findings;

  std::ptrdiff_t Count(Finding::Severity severity) const;
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

  static void Describe(auto& v) {
    v.Constant("schema_version", 1);
    v("runs", &Validations::runs, {.some = true});
  }
};

// Reads only. Throws Error (kBadInput) for what is no results directory.
Validation ValidateRun(const std::string& folder);

}  // namespace etprof
