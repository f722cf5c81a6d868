#pragma once

#include <string>
#include <vector>

#include "core/json/describe.h"
#include "report/report.h"

namespace etprof {

// Something that is the same in the whole run, or in all of an experiment, in the words in which it is shown.
struct Fact {
  std::string name, value;

  static void Describe(auto& v) {
    v("name", &Fact::name, {.meaning = "of the fact"});
    v("value", &Fact::value, {.meaning = "in words"});
  }
};

// What was measured, on what, and how: model, device, system, schedule. Only what is known.
std::vector<Fact> RunFacts(const Report& report);

// What ran, and how it was set up: mask, CPUs, runner, versions, hashes, command line. Only what is known.
std::vector<Fact> ExperimentFacts(const Report& report, const ReportExperiment& experiment);

}  // namespace etprof
