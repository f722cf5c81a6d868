#pragma once

#include <string>

#include "report/report.h"
#include "say/document.h"

namespace etprof::say {

// "10 min: 12.1 ms in the first minute, 15.9 ms in the last: 1.31x slower [1.30, 1.33]", of an experiment
// whose `sustained` is there.
std::string SustainedText(const ReportExperiment& experiment);

// The text, latency, clock and temperature over time, and a table of ten stretches of the time.
Section SaySustained(const ReportExperiment& experiment);

}  // namespace etprof::say
