#pragma once

#include <string>
#include <vector>

#include "report/bisection.h"
#include "workflow/measure/request.h"
#include "workflow/progress.h"

namespace etprof {

struct BisectOptions {
  MeasureRequest measure;  // output_root: the folder of all steps; "": out_bisect. max_seconds: of a step
  std::string repository = ".";
  std::string good, bad;             // any names that git knows there; good is an ancestor of bad
  std::vector<std::string> command;  // builds a commit; runs in its checkout
  // What the command leaves there, relative to the checkout. At least one of them.
  std::string built_model, built_runner;
  std::string model;  // that stays the same; where no model is built

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
    MeasureRequest::DescribeUsual(v);
    MeasureRequest::DescribeModel(v);
  }
};

// Finds the commit of the first-parent line from good to bad that made it slower: builds commits in a
// worktree of its own in the folder for temporary files, which is removed at the end, and measures each
// interleaved with the good version (CheckVariants). A step ends as soon as it is certain whether the commit
// is nearer to bad than to good; one that stays uncertain, or is not built, makes way for a neighbor. Throws
// Error: kUsage, kBadInput where the good or the bad version cannot be built, kInterrupted, and as
// CheckVariants.
Bisection Bisect(const BisectOptions& options, WorkflowProgress& progress);

}  // namespace etprof
