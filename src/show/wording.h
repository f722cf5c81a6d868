#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/compare/comparison.h"
#include "report/report.h"
#include "show/cell.h"

// Texts of numbers and verdicts, the same in all formats. They are plain text: renderers escape them.
namespace etprof {

inline constexpr const char* kUndefined = "—";
inline constexpr const char* kTracedTotal = "Traced total";
inline constexpr const char* kTracingOverhead = "Tracing overhead";

// A unit of time and a number of decimals for one table, so that its columns align and its rows can add up.
struct TimeScale {
  double unit_ns = 1e6;
  const char* unit = "ms";
  int decimals = 2;

  std::string Number(double ns) const;                // "7.92"; never rounds a nonzero time to 0: "<0.01"
  std::string FormatUnits(std::int64_t units) const;  // units of the last digit: 792 -> "7.92"
  std::string FormatUnits(std::int64_t units,
                          double ns) const;  // `units` are the rounded `ns`; if 0: "<0.01"
  std::string Text(double ns) const;         // "7.92 ms"
};
// The scale for times up to `largest` and totals down to `smallest` (ns): milliseconds, or microseconds if
// `smallest` is below a millisecond. The number of decimals depends on `largest` in that unit: three below
// 10, two below 100, one below 10,000, else none.
TimeScale ScaleFor(double smallest, double largest);

// Rounds parts to units of the scale's last digit by largest remainder, so that they add up to each rounded
// sum: the sum of the first group, of the first two groups, and so on.
std::vector<std::int64_t> RoundToUnits(const std::vector<std::vector<double>>& groups_ns,
                                       const TimeScale& scale);

// The mean over runs; 0 if there are no runs.
double MeanPerRun(Nanoseconds total, std::int64_t runs);

// A warning for comparisons whose variants were not interleaved.
inline constexpr const char* kNotInterleaved =
    "Not all of these were interleaved: drift between them can be mistaken for a difference.";

std::string PercentText(double share);  // 0.214 -> "21%", 0.0042 -> "0.4%"
std::string RatioText(double ratio);    // "1.84x", with more digits where this would read "1.00x"
// The meaning of "—" in columns of speedups: "—: inconclusive.", "—: emulated."; "" if nothing is compared,
// or if every comparison is contended, since each row then says so.
std::string UndefinedText(const Report& report);
// Appends UndefinedText to a paragraph.
std::string AddUndefinedText(std::string paragraph, const Report& report);
// "1.84x faster", "1.31x slower"; never "1.00x": "slower by less than 0.001%".
std::string RatioPhrase(double ratio, const char* comparative);
std::string RelativeText(double relative);  // a half-width: 0.0042 -> "0.42%"

// "1.84x faster  [1.82, 1.85]", "same  [0.996, 1.003]", "inconclusive  1.02x [0.97, 1.07]". A slowdown is
// reported as times slower, so its interval is inverted, too.
struct VerdictTexts {
  std::string verdict;   // "1.84x faster"
  std::string interval;  // "[1.82, 1.85]"; "" if there is no interval
};
VerdictTexts MakeVerdictTexts(const TimeComparison& time_comparison);

// A verdict that names the baseline: "1.84x faster than off", "same as off", "inconclusive, 1.02x compared
// with off".
std::string VerdictWithBaseline(const TimeComparison& time_comparison, const std::string& baseline);

// A speedup in a table: "2.46x" (below 1: slower), "same", "contended", or "—" if inconclusive.
std::string SpeedupOrDash(const TimeComparison& time_comparison);
// The interval of the ratio baseline / candidate, never inverted: "[2.41, 2.50]". "—" if there is no
// interval, or if it is too wide to carry information.
std::string IntervalText(const TimeComparison& time_comparison);

// An interval whose ends are more than this factor apart carries no information.
inline constexpr double kMaxIntervalFactor = 4;
// The interval of a median; undefined if there is none, or if it carries no information.
show::Cell MakeBoundsCell(const std::optional<LatencyInterval>& interval);

// For a paced experiment: "a run every 33ms, none of 840 took longer", "..., 12 of 840 took longer (1%)".
std::string PaceText(const ReportExperiment& experiment);
// The change of a startup cost: "+29%", "same"; empty if inconclusive.
std::string CostChangeText(const StartupCost& cost);
// The interval of CostChangeText, from the candidate's minimum to its maximum: "[−2.9%, −1.9%]"; empty if
// there is none, or if it is too wide to carry information.
std::string CostIntervalText(const StartupCost& cost);

// "10 launches x 7 rounds", "10 interleaved launches x 7 rounds"; "" if not paired.
std::string SampleText(const Comparison& comparison, bool interleaved = false);

// The method that ran ("decode") if readers need to know it: it is not "forward", or the program has several
// methods. Else "".
std::string NonDefaultMethod(const Report& report);

// "mobilenet_v3_small" for mobilenet_v3_small_xnnpack_fp32; for several models, the common beginning of their
// names.
std::string ModelText(const Report& report);

// "mobilenet_v3_small · xnnpack fp32 · 1 thread · linux-x86_64, 2 cores"
std::string HeaderText(const Report& report);
// As above, with `title` instead of the model's name, unless it is "".
std::string HeaderText(const Report& report, const std::string& title);

// "KleidiAI, SME2"
std::string MatrixKernelsText(KleidiaiUsage::Kernels kernels);

// The highest quantile that the number of values supports, with its label: p99 from 100 values on, else the
// maximum.
struct TailQuantile {
  const char* name = "max";
  std::optional<double> value;
};
TailQuantile HighestQuantile(const stats::Distribution& distribution);

// The name of the row between the mean of the traced runs and the headline median: "Tracing overhead" only if
// that explains the difference.
std::string TracerRowName(const ReportExperiment& experiment);

}  // namespace etprof
