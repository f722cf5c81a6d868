#pragma once

#include <string>
#include <vector>

#include "cli/reference/option_table.h"

namespace etprof {

// Scripts that complete etprof's command lines: commands, options, the values that an option takes, files and
// folders where they are expected. They hold all of it and start nothing.
std::string BashCompletion(const std::vector<CommandFacts>& commands);
std::string ZshCompletion(const std::vector<CommandFacts>& commands);
std::string FishCompletion(const std::vector<CommandFacts>& commands);

}  // namespace etprof
