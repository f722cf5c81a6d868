#pragma once

#include <span>
#include <string>

#include "report/report.h"
#include "say/document.h"

namespace etprof::say {

// The report of a run: verdicts, latencies, where the time goes, findings, how far to trust it, conditions.
Document SayReport(const Report& report);

// What is shown by itself on demand (--by NAME), and stands at the end of every report where there is some of
// it.
struct ReportView {
  const char* name;
  Document (*say)(const Report& report);
  const char* prefix;      // of its sections' titles in a report, which are labels; "": they are titles
  const char* nothing;     // why there may be none, and what to do
  bool breakdown = false;  // of the time (SayBreakdownBy), whose small rows are shown, too
};
std::span<const ReportView> ReportViews();

// What was measured, on what, and how: model, device, system, schedule. Only what is known.
Facts RunFacts(const Report& report);
// What ran, and how it was set up: mask, CPUs, runner, versions, hashes, command line. Only what is known.
Facts ExperimentFacts(const Report& report, const ReportExperiment& experiment);

// Of the medians: of the times in texts about a report, and of tables that end with a median.
Span SpanOfLatencies(const Report& report);

// A finding in words.
struct FindingWords {
  Text text;                   // one or two sentences, with its numbers and their units
  std::vector<Text> evidence;  // "Transpose (ND, X32): 14 operators, 0.62 ms"
  std::string formula;         // how its numbers come about
};

// `insight` is one of the report's.
FindingWords SayFinding(const Report& report, const Insight& insight);

// Adds a line for each experiment of a report to a list of many reports, which can go then. `from` (a results
// directory; "": none) precedes the labels.
void AddExperiments(const Report& report, const std::string& from, Document& list);

// "Of 1.62x in 32 compute-bound operators (68% of avx512 off), 1.86x is peak performance (fp32) and 0.87x is
// worse use of it (55% to 48% of peak).": ReportComparison::factors as a sentence, "" where there are none.
std::string FactorsText(const ReportComparison& pair);

}  // namespace etprof::say
