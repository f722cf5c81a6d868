#pragma once

#include <string>
#include <vector>

#include "measure/store/run_data.h"

namespace etprof {

// Of an experiment, a pair, or a verdict.
inline constexpr const char* kEmulatedRemark = "the CPU is emulated: timings are not meaningful";

// Adds what makes a finished measurement less certain to its warnings and to those of its experiments, each
// once. `of_conditions`: what was said while it waited for the device.
void AddWarnings(RunData& run, const std::vector<std::string>& of_conditions);

}  // namespace etprof
