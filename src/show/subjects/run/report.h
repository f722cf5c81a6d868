#pragma once

#include <span>
#include <string>

#include "report/report.h"
#include "show/document.h"

namespace etprof::show {

// The report of a run: verdicts, latencies, time breakdown, findings, measurement quality, and conditions.
Document MakeReportDocument(const Report& report);

// A view that --by NAME shows alone. Every report also ends with the views for which it has data.
struct ReportView {
  const char* name;
  Document (*make)(const Report& report);
  const char* prefix;        // put before its sections' titles in a report; "": nothing
  const char* empty_reason;  // why the view may be empty, and what to do
  // True for a breakdown of the time (MakeBreakdownSections), which shows all rows, even small ones.
  bool is_breakdown = false;
};
std::span<const ReportView> ReportViews();

// The model, device, system, and schedule of the measurement. Unknown facts are left out.
Facts RunFacts(const Report& report);
// The settings of an experiment: mask, CPUs, runner, versions, hashes, command line. Unknown facts are left
// out.
Facts ExperimentFacts(const Report& report, const ReportExperiment& experiment);

// The range of the median latencies. It determines the unit and digits of times in texts about a report, and
// in tables that end with a median.
TimeRange LatencyRange(const Report& report);

// A finding as text.
struct FindingTexts {
  Text text;                   // one or two sentences with numbers and units
  std::vector<Text> evidence;  // "Transpose (ND, X32): 14 operators, 0.62 ms"
  std::string formula;         // how the numbers are computed
};

// `finding` must belong to the report.
FindingTexts MakeFindingTexts(const Report& report, const Finding& finding);

// Adds a line per experiment of the report to `list`, a list of many reports; the report can be freed
// afterwards. `folder` (a results directory; "": none) precedes the labels.
void AddExperiments(const Report& report, const std::string& folder, Document& list);

// ReportComparison::factors as a sentence, "" if absent: "Of 1.62x in 32 compute-bound operators (68%
// of avx512 off), 1.86x is peak performance (fp32) and 0.87x is worse use of it (55% to 48% of peak)."
std::string FactorsText(const ReportComparison& pair);

}  // namespace etprof::show
