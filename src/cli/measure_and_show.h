#pragma once

#include <string>

#include "measure/config.h"

namespace etprof {

struct MeasureAndShowOptions {
  bool resume = false;
  bool json = false;
  std::string resume_command;  // what to type to go on after an interruption
};

// Measures on this machine with a progress line on stderr, then analyses and shows the run. Ctrl-C ends the
// measurement in good order (a second one at once). Returns the exit code.
int MeasureAndShow(const Config& config, const MeasureAndShowOptions& options);

}  // namespace etprof
