#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace etprof {

// Adds --time-scale, what one tick of the ETDumps' clock is.
void AddTimeScaleOption(CLI::App& app, std::string& scale);

// Nanoseconds a tick of "ns", "us", "ms", "s" (the names of TimeScale in ExecuTorch's Inspector), of a
// frequency such as "24MHz" or "2.4GHz", or of a plain number of nanoseconds. Throws Error (kUsage).
double NanosecondsPerTick(const std::string& scale);

}  // namespace etprof
