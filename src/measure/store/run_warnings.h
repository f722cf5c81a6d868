#pragma once

#include <string>
#include <vector>

#include "measure/store/run_data.h"

namespace etprof {

// The warning for each experiment, pair, and verdict of an emulated CPU.
inline constexpr const char* kEmulatedRemark = "the CPU is emulated: timings are not meaningful";

// Adds warnings about conditions that make a finished measurement less certain to the run and its
// experiments, without duplicates. `condition_warnings` has the warnings that were given while the
// measurement waited for the device.
void AddWarnings(RunData& run, const std::vector<std::string>& condition_warnings);

}  // namespace etprof
