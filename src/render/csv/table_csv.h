#pragma once

#include <ostream>
#include <string>
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

// The profiling kit's `<stem>_kernels.csv` with more columns behind its own (docs/concepts/kernels.md): one
// row a microkernel, in the order of the log.
void RenderKernelsCsv(const KernelView& view, std::ostream& out);

// One row a burst of an experiment whose `sustained` is there.
void RenderSustainedCsv(const Sustained& sustained, std::ostream& out);

// The table of one of those names. What a report has not (comparisons, a ladder) is a header alone.
void RenderReportTableCsv(const Report& report, const std::string& table, std::ostream& out);

}  // namespace etprof
