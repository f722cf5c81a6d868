#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "profile/analysis/profile.h"
#include "profile/compare/match_nodes.h"
#include "profile/compare/program_change.h"
#include "stats/ratio/launches.h"
#include "stats/ratio/unpaired.h"
#include "stats/ratio/verdict.h"

namespace etprof {

// The recorded untraced runs of one burst.
struct UntracedBurst {
  int launch = 0;
  int round = 0;
  std::vector<Nanoseconds> latency;  // ns; the clean runs only, in order
  std::int64_t runs = 0;             // number of recorded runs, clean or not
};
// If some launches lack clean runs, an interval needs at least this many launches in which both variants have
// clean runs; with fewer the verdict is "contended". (With five launches, an interval is twice as wide as
// with ten.)
inline constexpr int kMinCleanLaunches = 6;
// Returns whether fewer launches are clean than a comparison of `measured` launches needs.
constexpr bool AreTooFewClean(std::size_t clean, std::size_t measured) {
  return clean < std::min<std::size_t>(measured, kMinCleanLaunches);
}

// The bias of a ratio that was measured while threads waited for a processor. Clean runs on a busy machine
// differ slightly from runs on a quiet machine: other processes leave caches and clocks in another state, and
// if the times vary, the short runs are more likely to be clean. Both happen in all launches alike, so an
// interval over launches does not show it. If both variants do the same work in the same way, the bias
// cancels in their ratio. Next to busy loops and compilers, the ratio of a model to itself, or to a model
// with 12 or 19% more work, is wrong by less than the spread of the launches. The ratio of an extension off
// and on is wrong by up to 23% when the threads waited for half of the time
// (bench/results/statistics/waiting.md). The largest such error of a ratio's logarithm is this factor, times
// the larger share of time that the threads of a variant waited (ComparedVariant::waited_share), times the
// share of time in which the variants differ (Comparer::DifferingShare in compare.cc).
inline constexpr double kWaitingErrorFactor = 0.5;

// Widens the estimate for variants that waited for these shares of their time and differ in the share
// `differing`.
inline stats::RatioEstimate WithWaitingError(const stats::RatioEstimate& estimate, double baseline_waited,
                                             double candidate_waited, double differing) {
  const double error = kWaitingErrorFactor * std::max(baseline_waited, candidate_waited) * differing;
  return error > 0 ? stats::WithSystematicError(estimate, error) : estimate;
}

// One variant of a comparison: the profile of an experiment and, if etprof measured it, its untraced
// latencies.
struct ComparedVariant {
  std::string label;                  // "sme2 off"
  const Profile* profile = nullptr;   // null: no trace, as from some third-party runners
  std::vector<UntracedBurst> bursts;  // empty: Method::execute of the traces is compared, with a warning
  bool emulated = false;
  bool trace_enabled = false;   // a kernel-log run, whose times are not compared
  bool has_mixed_runs = false;  // its traced runs do different work, so its times are not compared
  std::string settings = {};  // settings of its runs; variants that differ in them count as doing other work
  std::string executorch = {};  // version of the libraries that ran; empty: not known
  // True if this ExecuTorch has no event tracer and etprof added a tracer, which costs as much as the tracer
  // of later releases.
  bool tracer_added = false;
  std::optional<double> clock_read_ns = {};  // duration of a read of the clock; absent: unknown
  double sustained_seconds = 0;              // time that it ran without a rest; 0: in bursts
  double waited_share = 0;  // share of the bursts' time in which threads were runnable but had no processor
};

// Wheels of ExecuTorch before 1.5 have no event tracer. In later wheels, and with the tracer that etprof
// adds, XNNPACK reads the clock after every operator, even while nothing is recorded, and the runtime tests
// for a tracer. Measured, this costs 23 ns for each operator where a read of the clock takes 20 ns
// (bench/results/models/idle_tracer.md). At most this many reads of the clock are allowed for each operator.
inline constexpr double kIdleTracerReads = 2;

// The smallest difference between two mean self times that can be called faster or slower. Smaller
// differences are unresolved (stats::MarkUnresolved). The self time of a framework span contains the
// recording of its children, and every self time contains a reading of the clock. The cost of both depends on
// the memory layout. Measured on a two-core x86-64 machine, MobileNetV3-Small: recording costs 385 ns for
// each event (traced less untraced latency; median of 20 launches, which range from 241 to 755 ns). Between
// 20 memory layouts, the median self time of the same OPERATOR_CALL (150 ns) differs by 95 ns for the median
// of 18 such spans, and by up to 239 ns. etprof-runner randomizes the layout (runner/timing/layout.h). Other
// runners do not, so names of different lengths cause a systematic difference.
inline constexpr Nanoseconds kMinResolvableDifference = 250;

struct CompareOptions {
  double confidence = 0.95;
  // The confidence level for the interval of the latency that covers `confidence` in spite of the interim
  // analyses of a stop rule (stats/ratio/stop_rule.h). 0: no interim analysis, so `confidence` is used.
  double interim_confidence = 0;
  double margin = 0.01;  // "same" lies within +-margin
  double false_discovery_rate = 0.05;
  // The drift assumed between variants that were not measured interleaved (stats::WithDrift).
  double drift = stats::kDriftBetweenMeasurements;
  std::uint64_t seed = 1;  // seed of the bootstrap, which is used if there are no rounds
  // The pairs of operators, if the caller has them already; null: the result of MatchOperators.
  const std::vector<NodePair>* matches = nullptr;
};

enum class Pairing {
  kLaunches,  // interleaved launches of etprof: the paired estimate
  kUnpaired,  // not interleaved: launches of each variant, or runs of files without launches; includes drift
  kNone,      // a variant has too few runs for any interval
};
template <>
inline constexpr const char* kNames<Pairing>[] = {"launches", "unpaired", "none"};

// A time of both variants. Ratio = baseline / candidate; above 1 the candidate is faster.
struct TimeComparison {
  std::optional<double> baseline_ns, candidate_ns;  // median latencies or mean self times
  std::optional<stats::RatioEstimate> estimate;     // absent: a variant has no time, or too few launches
  stats::Verdict verdict = stats::Verdict::kInconclusive;
  bool too_short = false;  // the rounding error of a clock of whole microseconds is as large as the time

  // Absent on an emulated CPU, since its timings are not meaningful.
  std::optional<stats::RatioEstimate> EstimateUnlessEmulated() const {
    return verdict == stats::Verdict::kEmulated ? std::nullopt : estimate;
  }

  // Returns whether more launches may end an inconclusive verdict. They do not reduce systematic_error, which
  // all launches share.
  bool MoreLaunchesMayDecide(double margin) const {
    if (!estimate) return true;
    const double error = estimate->systematic_error;
    return stats::DecideVerdict(estimate->log_ratio - error, estimate->log_ratio + error, margin) !=
           stats::Verdict::kInconclusive;
  }

  static void Describe(auto& v) {
    v("baseline_ms", &TimeComparison::baseline_ns,
      kMs.WithMeaning("median of a latency, else mean self time"));
    v("candidate_ms", &TimeComparison::candidate_ns,
      kMs.WithMeaning("median of a latency, else mean self time"));
    v("verdict", &TimeComparison::verdict,
      {.meaning = "of the interval, on the candidate; docs/concepts/statistics.md"});
    v.Flat(&TimeComparison::EstimateUnlessEmulated, {.or_null = true});
  }
};

// The ratio, its interval, and the verdict of a comparison, without the times.
struct RatioAndVerdict {
  const TimeComparison& time_comparison;

  static void Describe(auto& v) {
    v.Flat([](const RatioAndVerdict& ratio) { return ratio.time_comparison.EstimateUnlessEmulated(); },
           {.or_null = true});
    v("verdict", [](const RatioAndVerdict& ratio) { return ratio.time_comparison.verdict; },
      {.meaning = "of the interval, on the candidate; docs/concepts/statistics.md"});
  }
};

template <typename T>
void DescribeTotals(auto& v);

// Exact sums over the common set of runs of each variant: mean = total / runs. The delta of a row is
// candidate_total * baseline_runs - baseline_total * candidate_runs over baseline_runs * candidate_runs.
struct DeltaRow {
  std::string name;
  Nanoseconds baseline_total = 0, candidate_total = 0;
  TimeComparison time_comparison;  // mean self times

  static constexpr const char* kSchemaName = "delta";
  static void Describe(auto& v) {
    v("name", &DeltaRow::name, {.meaning = "group, category, module, line, delegate, or operator"});
    DescribeTotals<DeltaRow>(v);
    v.Flat(&DeltaRow::time_comparison);
  }
};

struct OperatorMatch {
  std::optional<std::size_t> baseline, candidate;  // indices into the profiles' operators; absent: not in it
  Nanoseconds baseline_total = 0, candidate_total = 0;
  // Mean self times. The verdicts control the false discovery rate over all operators.
  TimeComparison time_comparison;
  double match_score = 0;      // NodePair::score (match_nodes.h) of a pair
  std::uint16_t evidence = 0;  // NodePair::evidence of a pair
  // The change of the operator in the program. Absent: unchanged, or not known.
  std::optional<ProgramChange> change;
};

constexpr std::string_view LatencySourceName(bool from_trace) { return from_trace ? "trace" : "untraced"; }
inline constexpr MemberInfo kLatencySource{.meaning = "`trace` where there are no untraced runs",
                                           .choices = "untraced|trace"};

struct Comparison {
  std::string baseline_label, candidate_label;
  Pairing pairing = Pairing::kNone;
  TimeComparison latency;  // median of untraced runs (of traced runs if latency_from_trace)
  bool latency_from_trace = false;
  int launches = 0, rounds = 0;
  // Counts of untraced recorded runs. In a clean run, the threads had a processor whenever they were
  // runnable. Only clean runs are compared.
  struct CleanRuns {
    std::int64_t clean = 0, all = 0;
  };
  CleanRuns baseline_clean, candidate_clean;
  std::int64_t baseline_runs = 0, candidate_runs = 0;   // sizes of the two common sets
  Nanoseconds baseline_total = 0, candidate_total = 0;  // sum of Method::execute in these runs
  std::vector<DeltaRow> groups;          // rows of ByGroup; times and deltas add up to the totals
  std::vector<DeltaRow> categories;      // rows of ByCategory, the union of both profiles
  std::vector<OperatorMatch> operators;  // all operators of both profiles, each once
  Nanoseconds baseline_clipped = 0, candidate_clipped = 0;  // time outside of all operators (Clipped)
  std::vector<std::string> warnings;
};

// Describes the totals of a row of a comparison, or of the comparison itself.
template <typename T>
void DescribeTotals(auto& v) {
  constexpr MemberInfo kMayBeNegative{.min = kNoMinimum};
  v("baseline_total_ns", &T::baseline_total, kMayBeNegative.WithMeaning("over baseline_runs"));
  v("candidate_total_ns", &T::candidate_total, kMayBeNegative.WithMeaning("over candidate_runs"));
  v(
      "delta_numerator_ns",
      [](const T& row, const Comparison& comparison) {
        return row.candidate_total * comparison.baseline_runs -
               row.baseline_total * comparison.candidate_runs;
      },
      kMayBeNegative.WithMeaning(
          "the difference of the means, times the comparison's delta_denominator: exact"));
}

Comparison Compare(const ComparedVariant& baseline, const ComparedVariant& candidate,
                   const CompareOptions& options = {});

// Operators that are compared as a whole, such as those of a layer: indices into the profiles' operators.
struct OperatorSet {
  std::string name;
  std::vector<std::size_t> baseline, candidate;
};

// One row for each set, with the sum of its operators' self times. The verdicts control the false discovery
// rate over the sets, which may overlap. Empty if a variant has no profile.
std::vector<DeltaRow> CompareSets(const ComparedVariant& baseline, const ComparedVariant& candidate,
                                  const std::vector<OperatorSet>& sets, const CompareOptions& options = {});

// Matches the operators of two profiles without comparing times. One alignment of all operators
// (match_nodes.h) uses modules, source lines, shapes, weights, and dataflow if both programs are known,
// else only the operations and their order. Then the calls that contain the operators are matched.
// XNNPACK's running numbers are ignored. Pairs are indices into the profiles' operators.
std::vector<NodePair> MatchOperators(const Profile& baseline, const Profile& candidate);

}  // namespace etprof
