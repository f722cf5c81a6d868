#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/analysis/profile.h"
#include "report/kernels/watched.h"
#include "report/report.h"
#include "show/document.h"

// The parts from which MakeReportDocument makes the report.
namespace etprof::show {

// The pair whose tables a screen shows: the pair with the largest change. Null if there is no pair.
const ReportComparison* MostChangedPair(const Report& report);
// True if a matrix on the screen already shows the experiment.
bool IsInMatrix(const Report& report, std::size_t experiment);
// True if a screen shows the experiment's tables because it shows no other experiment.
bool IsOnlyShownExperiment(const Report& report, std::size_t experiment);
bool HasTimes(const ReportExperiment& experiment);  // true if the experiment has a trace with runs
// ": on compared with off" if there are several pairs; else "".
std::string TitleSuffix(const Report& report, const ReportComparison& pair);
// ": on" if there are several experiments; else "".
std::string TitleSuffix(const Report& report, const ReportExperiment& experiment);
double SameMargin(const Report& report);  // largest relative difference that counts as the same

// Pointers to the selected elements, by decreasing `key`.
template <typename T>
std::vector<const T*> SortByDecreasing(const std::vector<T>& elements, const auto& key,
                                       const auto& is_selected) {
  std::vector<const T*> selected;
  for (const T& element : elements) {
    if (is_selected(element)) selected.push_back(&element);
  }
  std::ranges::stable_sort(selected, std::ranges::greater(), [&](const T* element) { return key(*element); });
  return selected;
}
template <typename T>
std::vector<const T*> SortByDecreasing(const std::vector<T>& elements, const auto& key) {
  return SortByDecreasing(elements, key, [](const T&) { return true; });
}

std::vector<Section> MakeLatencySections(const Report& report);  // latencies and their distributions
// Load, first inference, and memory of each pair.
std::vector<Section> MakeStartupSections(const Report& report);
// True if a table compares several ExecuTorch releases, each with the release before it.
bool HasReleaseTable(const Report& report);
std::vector<Section> MakeReleaseSections(const Report& report);
std::vector<Section> MakeSelfTimeSections(const Report& report);  // times by group
std::vector<Section> MakeOperatorSections(const Report& report);  // the most expensive operators, and changes
// Values that delegates report and that are not host time.
std::vector<Section> MakeDelegateValueSections(const Report& report);
std::vector<Section> MakePlaceSections(const Report& report);  // delegated and portable
std::vector<Note> MakeQualityNotes(const Report& report);      // precision, runs, warnings, trace warnings
std::vector<Section> MakeConditionSections(const Report& report);  // conditions and experiments
std::vector<Section> MakeMatrixKernelSections(const Report& report);

// Time breakdown by parts of the model. One section per pair (both variants), and one per other experiment; a
// ladder has one for the setting to deploy. Layers form a tree: a module's time includes everything inside.
// Small rows are folded. If layers are unknown, a section says why; empty if there is nothing to show.
enum class BreakdownBy { kLayer, kSource, kDelegate, kKernel, kCategory };
std::vector<Section> MakeBreakdownSections(const Report& report, BreakdownBy by);

// For each experiment measured with --sustained: "10 min: 12.1 ms in the first minute, 15.9 ms in the last:
// 1.31x slower [1.30, 1.33]", charts of latency, clock, and temperature over time, and a table of ten time
// stretches.
std::vector<Section> MakeSustainedSections(const Report& report);

// For a report with a ladder: the effect of its levels, and the fastest setting.
std::vector<Answer> LadderAnswers(const Report& report);
// The ladder's tables: those of the screen, then separate tables for each number of threads. Empty without a
// ladder.
std::vector<Section> MakeLadderSections(const Report& report);
// A matrix of several experiments compared with one baseline, or of a thread sweep: one row per group and
// expensive operator, one column per experiment.
Section MakeMatrixSection(const Report& report, const Matrix& matrix);
// The speedup of each ISA level at each number of threads, and where it stops paying off. For a ladder with
// more than two levels, only the levels that stop: its own tables have every speedup.
std::vector<Section> MakeLevelSpeedupsSections(const Report& report);

// The distance of operators from the machine's roofline, one section per experiment; the sections of
// experiments that no pair or ladder highlights are folded. Empty if no ceilings are known.
std::vector<Section> MakeRooflineSections(const Report& report);
// Memory by owner: one section per watched experiment, then one section per pair of watched experiments with
// the change of each owner's memory.
std::vector<Section> MakeMemorySections(const Report& report);

// Counters (MakeInstructionsDocument: instructions), with one section per experiment that has any: the whole
// method, then operators by decreasing processor time. Experiments with several methods share
// a file, which is shown once.
Document MakeCountersDocument(const RunData& run);
Document MakeInstructionsDocument(const RunData& run);
// Noise budgets (etprof accuracy): one section per experiment whose program has one.
Document MakeNoiseDocument(const Report& report);
// Compared values of operators (--values): one section per pair.
Document MakeValuesDocument(const Report& report);
std::vector<Note> MakeValueNotes(const Report& report);  // one note per pair of MakeValuesDocument

// One section per experiment: the code that computed each operator, by the functions that the runner saw
// called. Empty without a watched run (--watch).
std::vector<Section> MakeProvenKernelSections(const std::vector<WatchedExperiment>& experiments);
// One section per experiment: how the threads shared the operators, by decreasing time.
std::vector<Section> MakeThreadSections(const std::vector<WatchedExperiment>& experiments);
// Returns the reason why more threads do not speed up an operator, as a clause; "" if they do, or if the
// cause is unknown.
std::string CauseText(const ThreadUsage& usage);

// The names of a profile's operators in tables. Events of different delegates and kernels may share a name
// ("Fully Connected (NC, F32) GEMM #1"); a location then distinguishes them. Names are plain text.
class OperatorNames {
 public:
  explicit OperatorNames(const Profile& profile);

  // "Convolution (NHWC, F32) IGEMM #2". A framework span's row has the time outside of its children:
  // "DELEGATE_CALL (overhead)".
  std::string PlainName(std::size_t op) const;
  // If another operator has the same name: " (features.3, call 7)", with the layer if it is known, and the
  // call if layers do not distinguish them. Else "".
  std::string Location(std::size_t op) const;
  std::string FullName(std::size_t op) const { return PlainName(op) + Location(op); }

 private:
  const Profile& profile_;
  std::map<std::string, int> count_by_name_;  // number of operators with each plain name
  // Number of operators with each plain name in each layer.
  std::map<std::pair<std::string, std::string>, int> count_by_name_and_layer_;
};

}  // namespace etprof::show
