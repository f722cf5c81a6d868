#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/error.h"

namespace etprof {

// The error for a command line that does not parse: CLI11's `problem`, or that there is no such command, then
// what was probably meant, and where to read on.
Error UsageError(const CLI::App& app, int argc, const char* const* argv, const std::string& problem);

}  // namespace etprof
