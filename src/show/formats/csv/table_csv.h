#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "report/kernels/kernels.h"
#include "report/report.h"

// Tables of a report as RFC 4180 CSV, for `--csv` on the terminal. The rows of all experiments (or pairs)
// follow each other, and each row names its experiment.
namespace etprof {

// "operators", "groups", "categories", "latency", "comparison", "layers", "sources", "delegates",
// "delegate_values", "ladder".
const std::vector<std::string>& ReportTableNames();

// The profiling kit's `<stem>_kernels.csv` with additional columns after the kit's (docs/reference/csv.md):
// one row per microkernel, in the order of the log.
void RenderKernelsCsv(const KernelView& view, std::ostream& out);
nlohmann::ordered_json KernelsCsvSchema();

// One row per burst of an experiment that has `sustained`.
void RenderSustainedCsv(const Sustained& sustained, std::ostream& out);

// Writes the table with this name, one of ReportTableNames(). A table of something that the report lacks
// (comparisons, a ladder) has only a header.
void RenderReportTableCsv(const Report& report, const std::string& table, std::ostream& out);

// The columns of every CSV table as the JSON Schema of a row, keyed by the name of the file or table.
std::map<std::string, nlohmann::ordered_json> CsvSchemas();

}  // namespace etprof
