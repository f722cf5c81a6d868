#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "profile/analysis/profile.h"
#include "report/findings/finding.h"
#include "stats/distribution.h"

namespace etprof {

// Runs of a method that do the same work, if other runs do different work.
struct RunClass {
  std::string name;               // "runs 2-51", "12 operators (9 runs)", "faster (74 runs)"
  std::vector<std::size_t> runs;  // indices into Profile::runs, in order
  stats::Distribution latency;    // Method::execute, ns
  // The runs within Tukey's fences of the class. The self times of the class are means over these runs.
  std::vector<std::size_t> common_runs;
  Breakdown groups;  // self times by group

  static constexpr const char* kSchemaName = "run_class";
  static void Describe(auto& v) {
    v("name", &RunClass::name, {.meaning = "which of the runs it has, in words"});
    v("first_run", [](const RunClass& run_class) { return run_class.runs.front() + 1; },
      {.meaning = "number of its first run in the trace, from 1 on"});
    v("last_run", [](const RunClass& run_class) { return run_class.runs.back() + 1; },
      {.meaning = "number of its last run in the trace"});
    v("latency_ms", &RunClass::latency, {.meaning = "of its runs"});
    v("groups", &RunClass::groups, {.meaning = "self times of its runs, less outliers"});
  }
};

// The smallest set of operators without which the runs in `second` took as long as the others, by the
// operators' medians and to within a fifth of the total change; empty if these operators take most of the
// time, or if the change is not confined. `second` has an entry for each run of `runs`.
finding::ConfinedOperators FindConfinedOperators(const Profile& profile, const std::vector<std::size_t>& runs,
                                                 const std::vector<bool>& second);

// A series has a trend if Kendall's p-value is below this level.
inline constexpr double kTrendLevel = 0.01;

// Classifies the steady runs of a trace by differences that a slower machine does not cause: different
// operators, or a time that changed, has two levels, or grew with the run's number by a tenth or more, in
// some operators while the others stayed, or by very different factors. Examples are a prefill next to decode
// steps, or decode steps over a growing context. A class has at least a tenth of the runs, unless the
// operators differ. Times are compared from 20 runs on. Empty: all runs do the same work, as far as is known.
std::vector<RunClass> FindRunClasses(const Profile& profile);

}  // namespace etprof
