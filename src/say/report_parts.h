#pragma once

#include <vector>

#include "report/report.h"
#include "say/document.h"

// What SayReport is made of, each in a file of its own.
namespace etprof::say {

// The pair whose tables a screen shows: the one that changes most. Null without any.
const ReportComparison* LeadingPair(const Report& report);
// A thread sweep of two: the tables of the pair say more than a matrix of one column.
bool IsOnePair(const Report& report, const Matrix& matrix);
// Whether a matrix on the screen shows the experiment already.
bool InMatrix(const Report& report, std::size_t experiment);
// The experiment whose tables a screen shows because it is the only one.
bool IsAlone(const Report& report, std::size_t experiment);
bool HasTimes(const ReportExperiment& experiment);  // a trace with runs to make tables of
Table::Span SpanOfLatencies(const Report& report);  // for tables that end with a median
// ": on compared with off", where there are several pairs; else "".
std::string TitleSuffix(const Report& report, const ReportComparison& pair);

std::vector<Section> SayLatencies(const Report& report);  // with their distributions
std::vector<Section> SayStartup(const Report& report);    // load, first inference and memory, pair by pair
std::vector<Section> SaySelfTimes(const Report& report);  // by group
std::vector<Section> SayOperators(const Report& report);  // the most expensive ones, and what changed
// What delegates report that is not host time.
std::vector<Section> SayDelegateValues(const Report& report);
std::vector<Section> SayPlaces(const Report& report);      // delegated and portable
std::vector<Note> SayQuality(const Report& report);        // precision, runs, warnings, trace warnings
std::vector<Section> SayConditions(const Report& report);  // and experiments
std::vector<Section> SayMatrixKernels(const Report& report);

}  // namespace etprof::say
