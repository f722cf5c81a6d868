#pragma once

#include <string>
#include <vector>

#include "commands/measurement/request.h"
#include "commands/terminal/progress.h"
#include "report/bisection.h"

namespace etprof {

// The `output_root` is the folder of all steps (empty: out_bisect), and `max_seconds` limits each step.
struct BisectOptions : MeasureRequest {
  std::string repository = ".";
  std::string good, bad;             // names that git resolves in `repository`; good is an ancestor of bad
  std::vector<std::string> command;  // builds a commit; runs in its checkout
  // Files that `command` creates, relative to the checkout. At least one of them is given.
  std::string built_model, built_runner;
  std::string model;  // the model of all steps if no model is built

  static void Describe(auto& v) {
    using O = BisectOptions;
    v("good", &O::good);
    v("bad", &O::bad);
    v("command", &O::command);
    v("repository", &O::repository,
      {.meaning = "Repository with the commits (default: the working directory)", .value = "DIR"});
    v("built_model", &O::built_model,
      {.meaning = "Model that COMMAND builds, relative to the checkout", .value = "FILE"});
    v("built_runner", &O::built_runner,
      {.meaning = "Runner that COMMAND builds, relative to the checkout", .value = "FILE"});
    v("model", &O::model, {.meaning = "Model to measure with every runner", .value = "FILE"});
    DescribeBasicOptions(v);
    DescribeModel(v);
  }
};

// Finds the commit on the first-parent line from good to bad that made the model slower. Builds commits in a
// temporary worktree, which is removed at the end, and measures each interleaved with the good version
// (CheckVariants). A step ends as soon as it is certain whether the commit is nearer to bad than to good; if
// a step stays uncertain or its commit does not build, a neighboring commit is tried. Throws Error: kUsage,
// kBadInput if the good or the bad version cannot be built, kInterrupted, and as CheckVariants.
Bisection Bisect(const BisectOptions& options, WorkflowProgress& progress);

}  // namespace etprof
