#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace etprof {

// For a command line that does not parse: "; did you mean --threads? ..." and where to read on, or only the
// latter.
std::string SuggestionFor(const CLI::App& app, int argc, const char* const* argv);

}  // namespace etprof
