#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "render/screen/terminal.h"
#include "say/document.h"

namespace etprof {

// Histograms of Unicode blocks above each other on one axis, each with its median marked and the runs counted
// that lie beyond the axis. Bins are merged whole, or drawn several columns wide, so that no count is made
// up.
void DrawDistributions(const say::Distributions& of, const TerminalOptions& options, std::ostream& out);

// Draws the picture. Returns the letters, row by row: "" where a row has no place; what falls into one place
// shares its letter. Points without a letter are "•".
std::vector<std::string> DrawRoofs(const say::Roofs& roofs, const TerminalOptions& options,
                                   std::ostream& out);

}  // namespace etprof
