#pragma once

#include <string>
#include <vector>

#include "measure/store/counters_row.h"
#include "measure/store/run_data.h"
#include "say/document.h"

namespace etprof::say {

struct ExperimentCounters {
  std::string label;
  std::vector<CountersRow> rows;
};

// Those of a run that have some. Of a program of several methods the experiments share a file: it is there
// once.
std::vector<ExperimentCounters> CountersOf(const RunData& run);

// An experiment is a section: the whole method, then the operators by falling processor time. Without rows
// there is no section.
Document SayCounters(const std::vector<ExperimentCounters>& experiments);

}  // namespace etprof::say
