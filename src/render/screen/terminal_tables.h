#pragma once

#include <ostream>
#include <vector>

#include "render/screen/terminal.h"
#include "report/report.h"
#include "say/wording.h"

// The tables of the screen. All take a width of 60 columns at least.
namespace etprof {

// The mean self times by group of one experiment, or of both sides of a pair (`pair`, of `report`), with
// gains and bars. The rows, as printed, add up to the median. Nothing where a side has no trace.
void DrawTimes(const Report& report, const ReportExperiment& experiment, const TerminalOptions& options,
               std::ostream& out);
void DrawTimes(const Report& report, const ReportComparison& pair, const TerminalOptions& options,
               std::ostream& out);
// Of several that are not compared: a column each, as many as fit. They add up likewise.
void DrawTimesSideBySide(const Report& report, const std::vector<std::size_t>& experiments,
                         const TerminalOptions& options, std::ostream& out);

// The costliest operators of an experiment (at most `most`); of a pair both sides of each, by falling time of
// the side that takes longer.
void DrawOperators(const Report& report, const ReportExperiment& experiment, std::size_t most,
                   const TerminalOptions& options, std::ostream& out);
void DrawOperators(const Report& report, const ReportComparison& pair, const TerminalOptions& options,
                   std::ostream& out);

}  // namespace etprof
