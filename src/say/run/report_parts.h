#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "report/kernels/watched.h"
#include "report/report.h"
#include "say/document.h"

// What SayReport is made of.
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
// ": on compared with off", where there are several pairs; else "".
std::string TitleSuffix(const Report& report, const ReportComparison& pair);
// ": on", where there are several experiments; else "".
std::string TitleSuffix(const Report& report, const ReportExperiment& experiment);
double MarginOf(const Report& report);  // within which a difference is none

// Pointers to those of `all` that `take` keeps, by falling `key`.
template <typename T>
std::vector<const T*> Falling(const std::vector<T>& all, const auto& key, const auto& take) {
  std::vector<const T*> taken;
  for (const T& one : all) {
    if (take(one)) taken.push_back(&one);
  }
  std::ranges::stable_sort(taken, std::ranges::greater(), [&](const T* one) { return key(*one); });
  return taken;
}
template <typename T>
std::vector<const T*> Falling(const std::vector<T>& all, const auto& key) {
  return Falling(all, key, [](const T&) { return true; });
}

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

// Where the time goes by what the model is made of. A section for each pair, of both sides, and for each
// other experiment; of a ladder for the setting that one would ship. Layers are a tree: a module's time is
// that of all in it. What is small is in folded rows. Where layers are not known, a section says why; empty
// where nothing can be said.
enum class By { kLayer, kSource, kDelegate, kKernel, kCategory };
std::vector<Section> SayBreakdownBy(const Report& report, By by);

// "10 min: 12.1 ms in the first minute, 15.9 ms in the last: 1.31x slower [1.30, 1.33]", latency, clock and
// temperature over time, and a table of ten stretches of the time: of each experiment that was sustained.
std::vector<Section> SaySustained(const Report& report);

// Of a report that has a ladder: what its levels change, and which setting is the fastest.
std::vector<Answer> LadderAnswers(const Report& report);
// What a screen shows of it, then every number of threads by itself; without a ladder nothing.
std::vector<Section> SayLadder(const Report& report);
// Several experiments against one baseline, or a thread sweep: a row a group and costly operator, a column an
// experiment.
std::vector<Section> SayMatrix(const Report& report, const Matrix& matrix);
// What each level of the ISA gains at each number of threads, and where it no longer pays off. Of a ladder of
// more than two levels only those that stop: its own tables have every gain.
std::vector<Section> SayPayoffs(const Report& report);

// How far operators are from what the machine can do, an experiment a section: those that are told of a pair
// or a ladder, and folded the others. Empty where no roofs are known.
std::vector<Section> SayRoofline(const Report& report);
// Whose memory is whose: of each watched experiment a section, then of each pair of them what one holds more.
std::vector<Section> SayMemory(const Report& report);

// Of the experiments of a run that have some, each a section: the whole method, then the operators by falling
// processor time. Of a program of several methods the experiments share a file: it is there once.
Document SayCounters(const RunData& run);
Document SayInstructions(const RunData& run);

// An experiment is a section: what computed each operator, by what the runner saw called. Without a watched
// run (--watch) there is none.
std::vector<Section> SayProven(const std::vector<WatchedExperiment>& experiments);
// The same, of how the threads shared the operators: those with the most time first.
std::vector<Section> SayThreads(const std::vector<WatchedExperiment>& experiments);
// Why threads make an operator no faster: one clause; "": they do, or it is not known.
std::string CauseText(const ThreadUse& use);

}  // namespace etprof::say
