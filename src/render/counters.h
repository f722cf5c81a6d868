#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "measure/counters.h"

namespace etprof {

struct ExperimentCounters {
  std::string label;
  std::vector<CountersRow> rows;
};

// A section of Markdown: for each experiment the whole method and the operators with the most processor time,
// at most twenty. Nothing without rows.
void RenderCountersMarkdown(const std::vector<ExperimentCounters>& experiments, std::ostream& out);

}  // namespace etprof
