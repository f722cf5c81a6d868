#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/device_option.h"
#include "cli/experiment_options.h"
#include "measure/config/config.h"

namespace etprof {

// The two sides of a check, as the command line names them.
struct CheckSides {
  enum class Kind {
    kModels,   // a model, and another one or what differs: measured now
    kConfigs,  // a configuration with its pairs, or two whose experiments are paired by name: measured now
    kRuns,     // a run directory with its pairs, or two: nothing is measured
  };
  Kind kind = Kind::kModels;
  std::string baseline;
  std::string candidate;  // empty: `baseline` holds both sides
};

// Tells what is meant by the paths in order and by --baseline and --candidate. Throws Error (kUsage) where a
// side is missing, given twice, or cannot be held against the other, kBadInput for what is not there.
CheckSides SidesOf(const std::vector<std::string>& paths, const std::string& baseline,
                   const std::string& candidate);

struct CheckMeasurement {
  std::optional<int> threads;
  ExperimentOptions experiment;
  std::string output_root;
  DeviceChoice device;
};

// What to measure for sides of kModels or kConfigs, but for how long. Every pair of its plan is a check.
// Throws Error (kUsage, kBadInput).
Config CheckConfig(const CheckSides& sides, const CheckMeasurement& measurement, Device& device);

}  // namespace etprof
