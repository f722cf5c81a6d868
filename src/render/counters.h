#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "measure/counters.h"
#include "render/markdown_text.h"
#include "render/terminal.h"
#include "report/report.h"

namespace etprof {

struct ExperimentCounters {
  std::string label;
  std::vector<CountersRow> rows;
};

// Those of a run that have some. Of a program of several methods the experiments share a file: it is there
// once.
std::vector<ExperimentCounters> CountersOf(const RunData& run);

// A section of Markdown: for each experiment the whole method and the operators with the most processor time,
// at most twenty. Nothing without rows.
void RenderCountersMarkdown(const std::vector<ExperimentCounters>& experiments, markdown::Out& out);

// The same on a terminal, under the header of the report; with `options.all` every operator. DrawCounters has
// no header, and draws nothing without rows.
void DrawCounters(const Report& report, const TerminalOptions& options, std::ostream& out);
void RenderCountersTerminal(const Report& report, const TerminalOptions& options, std::ostream& out);

}  // namespace etprof
