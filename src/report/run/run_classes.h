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
  std::string name;               // "runs 2-51", "12 operators (9 runs)", "faster (74 runs)"
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

// The least operators without which the runs of `second` took as long as the others, by the operators'
// medians and to within a fifth of what all changed by; empty if these are most of the time, or if nothing is
// confined. `second` is by run of `runs`.
finding::ConfinedTo ConfinedChange(const Profile& profile, const std::vector<std::size_t>& runs,
                                   const std::vector<bool>& second);

// Of Kendall's p-value: below it, a series has a trend.
inline constexpr double kTrendLevel = 0.01;

// The classes that the steady runs of a trace fall into, by what a slower machine does not cause: they have
// different operators, or their time changed, has two levels, or grew with their number by a tenth or more,
// in some of the operators while the others stayed, or by factors that are far apart. As a prefill beside
// decode steps, or decode steps over a growing context. A class has at least a tenth of the runs, except
// where operators differ. Empty: all do the same, or there are fewer than 20.
std::vector<RunClass> ClassesOfRuns(const Profile& profile);

}  // namespace etprof
