#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace etprof {

// One line for a command line that does not parse: CLI11's `problem`, or that there is no such command, then
// what was probably meant, and where to read on.
std::string UsageMessage(const CLI::App& app, int argc, const char* const* argv, const std::string& problem);

}  // namespace etprof
