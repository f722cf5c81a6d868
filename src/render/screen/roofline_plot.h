#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "render/screen/terminal.h"
#include "report/roofline.h"

namespace etprof {

// The roofline as a picture, both axes logarithmic: FLOPs a byte of compulsory traffic against the FLOPs a
// second that were reached. Roofs are lines, operators are points: the first `lettered` rows of the roofline
// letters, the others "•". Operators without multiply-adds have no place in it, and are counted. Returns the
// letters, row by row: "" where a row has no place; what falls into one place shares its letter.
std::vector<std::string> DrawRooflinePlot(const Roofline& roofline, std::size_t lettered,
                                          const TerminalOptions& options, std::ostream& out);

}  // namespace etprof
