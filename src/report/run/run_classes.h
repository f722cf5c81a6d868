#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "core/json/describe.h"
#include "report/findings/insight.h"
#include "stats/distribution.h"

namespace etprof {

// Runs of a method that do the same work, where others do other work.
struct RunClass {
  std::string name;               // "runs 2-51", "12 operators", "faster runs"
  std::vector<std::size_t> runs;  // in Profile::runs, in order
  stats::Distribution latency;    // Method::execute, ns

  static constexpr const char* kSchemaName = "run_class";
  static void Describe(auto& v) {
    v("name", &RunClass::name, {.meaning = "which of the runs it has, in words"});
    v("first_run", [](const RunClass& of) { return of.runs.front() + 1; },
      {.meaning = "number of its first run in the trace, from 1 on"});
    v("last_run", [](const RunClass& of) { return of.runs.back() + 1; },
      {.meaning = "number of its last run in the trace"});
    v("latency_ms", &RunClass::latency, {.meaning = "of its runs"});
  }
};

// The least operators without which the runs of `second` took as long as the other described ones, to within
// a fifth of what all changed by; empty if these are most of the time, or if nothing is confined. `second` is
// by run of `runs`.
finding::ConfinedTo ConfinedChange(const Profile& profile, const std::vector<std::size_t>& runs,
                                   const std::vector<bool>& second);

// The classes that the steady runs of a trace fall into, by what a slower machine cannot cause: they have
// different operators, or their time changed, or has two levels, or grew with their number, in some of the
// operators while the others stayed. As a prefill beside decode steps, or decode steps over a growing
// context. Empty: all do the same, or there are fewer than 20.
std::vector<RunClass> ClassesOfRuns(const Profile& profile);

}  // namespace etprof
