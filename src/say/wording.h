#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "report/report.h"

// How numbers and verdicts are worded, the same on the screen and in Markdown. Plain text: escaping is the
// renderer's.
namespace etprof {

inline constexpr const char* kUndefined = "—";
inline constexpr const char* kTracedTotal = "Traced total";
inline constexpr const char* kTracingOverhead = "Tracing overhead";

// A unit of time and its digits for one table, so that its columns align and its rows can add up.
struct TimeScale {
  double unit_ns = 1e6;
  const char* unit = "ms";
  int decimals = 2;

  std::string Number(double ns) const;            // "7.92"; what is not 0 never reads as 0: "<0.01"
  std::string OfUnits(std::int64_t units) const;  // of units of the last digit: 792 -> "7.92"
  std::string OfUnits(std::int64_t units, double ns) const;  // the same, of a time that was rounded to them
  std::string Text(double ns) const;                         // "7.92 ms"
  std::string Text(const std::optional<double>& ns) const;   // "—" where there is none
};
// For times up to `largest` and totals down to `smallest` (ns): milliseconds, or microseconds where the
// smallest total is below one; two decimals, one from 100 on.
TimeScale ScaleFor(double smallest, double largest);

// Parts rounded to units of the scale's last digit by largest remainder, so that they add up to each rounded
// sum: that of the first group of parts, of the first two, and so on.
std::vector<std::int64_t> AddingUpUnits(const std::vector<std::vector<double>>& groups_ns,
                                        const TimeScale& scale);

// The mean over runs; 0 for none.
double MeanOf(Nanoseconds total, std::int64_t runs);

// Where launches of what is compared did not alternate.
inline constexpr const char* kNotInterleaved =
    "Not all of these were interleaved: drift between them can be mistaken for a difference.";

std::string PercentText(double share);  // 0.214 -> "21%", 0.0042 -> "0.4%"
std::string RatioText(double ratio);    // "1.84x", with more digits where that would read "1.00x"
// What "—" stands for in columns of speedups: "—: inconclusive.", "—: contended or inconclusive."; "" where
// nothing is compared.
std::string UndefinedText(const Report& report);
// "1.84x faster", "1.31x slower"; never once as fast: "slower by less than 0.001%".
std::string TimesText(double ratio, const char* word);
std::string RelativeText(double relative);  // a half-width: 0.0042 -> "0.42%"

// "1.84x faster  [1.82, 1.85]", "same  [0.996, 1.003]", "inconclusive  1.02x [0.97, 1.07]". Slower is told as
// how many times slower, so its interval is turned over too.
struct VerdictWords {
  std::string verdict;   // "1.84x faster"
  std::string interval;  // "[1.82, 1.85]", empty where there is none
};
VerdictWords WordsOf(const Quantity& quantity);

// "1.84x faster than off", "same as off", "inconclusive, 1.02x compared with off": where it must be said
// against what.
std::string VerdictAgainst(const Quantity& quantity, const std::string& baseline);

// For a table: "2.46x" (below 1: slower), "same", or "—" where the measurement cannot tell.
std::string GainText(const Quantity& quantity);
// The interval of the ratio baseline / candidate, not turned over: "[2.41, 2.50]", or "—".
std::string IntervalText(const Quantity& quantity);

// Of a paced experiment: "a run every 33ms, none of 840 took longer", "..., 12 of 840 took longer (1%)".
std::string PaceText(const ReportExperiment& experiment);
// The change of a cost: "+29%", "same"; empty where the measurement cannot tell.
std::string CostVerdict(const SideCost& cost);
// The interval of that change, from the candidate's least to its most: "[−2.9%, −1.9%]", or "—".
std::string CostInterval(const SideCost& cost);

// "10 launches x 7 rounds", "10 interleaved launches x 7 rounds"; "" where they are not paired.
std::string SampleText(const Comparison& comparison, bool interleaved = false);

// The method that ran ("decode"), where it must be told: it is not "forward", or the program has several. ""
// where that goes without saying.
std::string MethodToTell(const Report& report);

// "mobilenet_v3_small" of mobilenet_v3_small_xnnpack_fp32; of several models what their names begin with.
std::string ModelText(const Report& report);

// "mobilenet_v3_small · xnnpack fp32 · 1 thread · linux-x86_64, 2 cores"
std::string HeaderText(const Report& report);
// The same with `title` instead of the model's name; "": with that.
std::string HeaderText(const Report& report, const std::string& title);

// "KleidiAI, SME2"
std::string MatrixKernelsText(KleidiaiUse::Kernels kernels);

// The highest quantile that this many values can show, as a label and a value: p99 from 100 values on, else
// the maximum.
struct Tail {
  const char* name = "max";
  std::optional<double> value;
};
Tail TailOf(const stats::Distribution& distribution);

// What the row is called that leads from the mean of the traced runs to the headline median: "Tracing
// overhead" only where that explains it.
std::string TracerRowName(const ReportExperiment& experiment);

}  // namespace etprof
