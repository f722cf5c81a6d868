#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "report/report.h"

namespace etprof {

// Adds --csv[=TABLE]: without a table it is `usual`. `table` stays empty where it was not given.
void AddCsvOption(CLI::App& app, std::string& table, const std::string& usual);

// Adds --by layer|source|delegate|category|roofline|counters: that table in place of the screen. `by` stays
// empty where it was not given.
void AddByOption(CLI::App& app, std::string& by);
void ShowBy(const Report& report, const std::string& by, bool all);

// Adds --all: the screen with everything, in place of the one that fits.
void AddAllOption(CLI::App& app, bool& all);

// Writes the table of that name (one of ReportTableNames) to stdout. Throws Error: nothing is compared and
// the comparison was asked for, or stdout cannot be written.
void ShowTable(const Report& report, const std::string& table);

}  // namespace etprof
