#pragma once

#include <string>
#include <vector>

#include "commands/gate/check.h"
#include "device/device.h"
#include "measure/config/config.h"

namespace etprof {

// The kinds of inputs that a check compares.
enum class InputKind {
  kModels,   // two models, or a model and its variant: measured now
  kFolders,  // two folders of models, paired by name: measured now
  kConfigs,  // a configuration with pairs, or two configurations (experiments paired by name): measured now
  kRuns,     // a results directory with pairs, or two results directories: nothing is measured
};

// The two inputs as the command line names them.
struct CheckInputs {
  InputKind kind = InputKind::kModels;
  std::string baseline;
  std::string candidate;  // empty: `baseline` has both variants
};

// Throws Error (kUsage, kBadInput) for inputs that are missing or of different kinds.
CheckInputs ParseInputs(const CheckOptions& options);

// Makes the configuration to measure; every pair of its plan is a check. Adds a message to `unpaired` for
// each model that is in only one of two folders. Throws Error (kBadInput) if there is nothing to check.
Config MakeCheckConfig(const CheckInputs& inputs, const MeasureRequest& request, Device& device,
                       std::vector<std::string>& unpaired);

}  // namespace etprof
