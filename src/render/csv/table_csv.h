#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "report/kernels/kernels.h"
#include "report/report.h"

// One table of a report as RFC 4180, for `--csv` on the terminal: the rows of all experiments (or pairs) one
// after the other, each with the experiment it is of.
namespace etprof {

// "operators", "groups", "categories", "latency", "comparison", "layers", "sources", "delegates",
// "delegate_values", "ladder".
const std::vector<std::string>& ReportTableNames();

// The kLadder table: a row a time at a setting, of the whole, groups, categories and operators.
void RenderLadderCsv(const Report& report, std::ostream& out);
nlohmann::ordered_json LadderCsvSchema(std::string_view title, std::string_view description);

// The profiling kit's `<stem>_kernels.csv` with more columns behind its own (docs/reference/csv.md): one
// row a microkernel, in the order of the log.
void RenderKernelsCsv(const KernelView& view, std::ostream& out);
nlohmann::ordered_json KernelsCsvSchema();

// One row a burst of an experiment whose `sustained` is there.
void RenderSustainedCsv(const Sustained& sustained, std::ostream& out);

// The table of one of those names. What a report has not (comparisons, a ladder) is a header alone.
void RenderReportTableCsv(const Report& report, const std::string& table, std::ostream& out);

// The columns of every CSV table, by the file's or the table's name, as JSON Schemas of a row.
std::map<std::string, nlohmann::ordered_json> CsvSchemas();

}  // namespace etprof
