#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "render/screen/terminal.h"
#include "say/document.h"

namespace etprof {

// Draws the picture. Returns the letters, row by row: "" where a row has no place; what falls into one place
// shares its letter. Points without a letter are "•".
std::vector<std::string> DrawRoofs(const say::Roofs& roofs, const TerminalOptions& options,
                                   std::ostream& out);

}  // namespace etprof
