#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/store/run_data.h"
#include "report/check.h"
#include "workflow/measure/request.h"

namespace etprof {

struct CheckOptions {
  MeasureRequest measure;
  // Two models or configurations (measured now), or results directories; or one configuration or results
  // directory with its pairs. `baseline` and `candidate` name the two as well; of a model the candidate may
  // be what differs ("isa=-avx2").
  std::vector<std::string> paths;
  std::string baseline, candidate;
  CheckLimits limits;
  std::optional<double> budget;      // seconds for all pairs together
  std::vector<std::string> allowed;  // as MismatchNames: in what two stored runs may differ
};

struct Checked {
  std::optional<CheckReport> report;  // absent: interrupted
  std::optional<RunData> measured;    // absent: stored runs were checked
  KeptInHistory kept;                 // what was measured
};

// Throws Error (kUsage) where a side is missing, given twice, or cannot be compared with the other, and for
// options that do not go with stored runs; kBadInput for what is not there or cannot be compared;
// kDeviceFailed.
Checked CheckVariants(const CheckOptions& options, WorkflowProgress& progress);

}  // namespace etprof
