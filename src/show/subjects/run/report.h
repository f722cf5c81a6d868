#pragma once

#include <span>
#include <string>

#include "report/report.h"
#include "show/document.h"

namespace etprof::show {

// The report of a run: verdicts, latencies, time breakdown, findings, measurement quality, and conditions.
Document MakeReportDocument(const Report& report);

// A part of the report that --by NAME shows on its own. Every report that has data for it ends with it.
struct ReportView {
  const char* name;
  Document (*make)(const Report& report);
  const char* prefix;        // put before its sections' titles in a report; "": nothing
  const char* empty_reason;  // why the view may be empty, and what to do
  bool breakdown =
      false;  // a breakdown of the time (MakeBreakdownSections): all rows are shown, even small ones
};
std::span<const ReportView> ReportViews();

// What was measured, where, and how: model, device, system, schedule. Only known facts.
Facts RunFacts(const Report& report);
// What ran and its settings: mask, CPUs, runner, versions, hashes, command line. Only known facts.
Facts ExperimentFacts(const Report& report, const ReportExperiment& experiment);

// The range of the median latencies, for times in texts about a report, and for tables that end with a
// median.
Span LatencySpan(const Report& report);

// A finding as text.
struct FindingTexts {
  Text text;                   // one or two sentences with numbers and units
  std::vector<Text> evidence;  // "Transpose (ND, X32): 14 operators, 0.62 ms"
  std::string formula;         // how the numbers are computed
};

// `insight` must be one of the report's.
FindingTexts MakeFindingTexts(const Report& report, const Insight& insight);

// Adds a line per experiment of the report to `list`, a list of many reports; the report can be freed
// afterwards. `from` (a results directory; "": none) precedes the labels.
void AddExperiments(const Report& report, const std::string& from, Document& list);

// ReportComparison::factors as a sentence, "" if there are none: "Of 1.62x in 32 compute-bound operators (68%
// of avx512 off), 1.86x is peak performance (fp32) and 0.87x is worse use of it (55% to 48% of peak)."
std::string FactorsText(const ReportComparison& pair);

}  // namespace etprof::show
