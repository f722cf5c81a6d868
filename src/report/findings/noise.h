#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace etprof {

// What made an experiment's latency vary while it was measured: a step, or a trend and two levels.
struct NoiseFinding {
  double at_stake = 0;  // ns an inference
  std::string text;
  std::vector<std::string> evidence;  // conditions that differed, where they were recorded
  std::string formula;
};

// One cause has one finding: a step is also a trend, and its sides are two levels. `experiment` is one of
// `run`.
std::vector<NoiseFinding> FindNoise(const RunData& run, const ReportExperiment& experiment);

}  // namespace etprof
