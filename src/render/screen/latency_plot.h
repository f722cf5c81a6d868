#pragma once

#include <ostream>

#include "render/screen/terminal.h"
#include "report/report.h"

namespace etprof {

// The latencies of a plot's experiments above each other on one axis, as histograms of Unicode blocks, each
// with its median marked and the runs counted that lie beyond the axis. Bins are merged whole, or drawn
// several columns wide, so that no count is made up.
void DrawLatencyPlot(const Report& report, const LatencyPlot& plot, const TerminalOptions& options,
                     std::ostream& out);

}  // namespace etprof
