#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "report/report.h"

// One table of a report as RFC 4180, for `--csv` on the terminal: the rows of all experiments (or pairs) one
// after the other, each with the experiment it is of.
namespace etprof {

enum class ReportTable {
  kOperators,
  kGroups,
  kCategories,
  kLatency,
  kComparison,
  kLayers,
  kSources,
  kDelegates,
  kLadder
};

// "operators", "groups", "categories", "latency", "comparison", "layers", "sources", "delegates", "ladder".
const std::vector<std::string>& ReportTableNames();
std::optional<ReportTable> ReportTableNamed(const std::string& name);

// One row a burst of an experiment whose `sustained` is there.
void RenderSustainedCsv(const Sustained& sustained, std::ostream& out);

// A report without comparisons has a kComparison table of its header alone, one without a ladder a kLadder
// table likewise.
void RenderReportTableCsv(const Report& report, ReportTable table, std::ostream& out);

}  // namespace etprof
