#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "show/document.h"
#include "show/formats/screen/terminal.h"

namespace etprof {

// Draws histograms of Unicode blocks below each other on one axis. Each has its median marked and says how
// many runs lie beyond the axis. Several bins are merged, or one bin is several columns wide, so that no
// count is interpolated.
void DrawDistributions(const show::Distributions& distributions, const TerminalOptions& options,
                       std::ostream& out);

// Draws the roofline chart. Returns the letter of each lettered row of the table; "" if its point is outside
// of the chart. Points in the same place share a letter. Points without a letter are drawn as "•".
std::vector<std::string> DrawRooflineChart(const show::RooflineChart& chart, const TerminalOptions& options,
                                           std::ostream& out);

}  // namespace etprof
