#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/categories.h"

// What a finding is, in numbers: say/findings/findings.cc has the words. Unless it says otherwise, a time is
// the mean of one inference in ns, and an operator an index into Profile::operators of the finding's
// experiment.
namespace etprof {

// Of an experiment whose runs were measured with and without tracing.
struct TracedGap {
  double traced = 0;    // ns, the mean of the common set: what operators and groups add up to
  double untraced = 0;  // ns, the median: the headline
  double relative() const { return traced / untraced - 1; }
};

namespace finding {

// Of a whole of the same runs: its share of them, and what it gives at most.
struct TimePart {
  double ns = 0, whole_ns = 0;
  double share() const { return whole_ns > 0 ? ns / whole_ns : 0; }
};

// Operators of one type that meet a condition, added up.
struct TypeTime {
  std::string type = {};
  std::int64_t operators = 0;
  double ns = 0;
  // Why they are in no delegate, where the program shows it: each reason once, that of the costliest first.
  std::vector<std::string> not_delegated = {};
};
using TypeTimes = std::vector<TypeTime>;  // most time first

struct OperatorTime {
  std::size_t op = 0;
  double ns = 0;
};

// An upper bound is how many times as fast an inference would be at most without the part (Amdahl 1967):
// 1 / (1 - share). Absent: there is none, or no bound on the latency, since that disagrees with the traces.
using UpperBound = std::optional<double>;

// How a group's share of the time changed.
struct GroupShift {
  Group group = Group::kOther;
  TimePart baseline, candidate;
};

// The findings, each with its kind as files have it. Those of a pair have Insight::pair. Those of tracing say
// that traced and untraced times disagree: that limits what the others mean, and stands first.

struct BottleneckShift {
  static constexpr std::string_view kKind = "bottleneck_shift";
  GroupShift from, to;                  // the largest group of the baseline, and that of the candidate
  GroupShift grown = {};                // the one whose share grew most
  std::vector<GroupShift> groups = {};  // those that take time
  bool Moved() const { return from.group != to.group; }
};

struct Bottleneck {
  static constexpr std::string_view kKind = "bottleneck";
  Group group = Group::kOther;
  TimePart time = {};
  std::int64_t operators = 0;
  UpperBound bound = {};
  std::optional<OperatorTime> costliest = {};  // of several
  TypeTimes types = {};
};

struct UpperBounds {
  static constexpr std::string_view kKind = "amdahl";
  struct OfCategory {
    std::string category;
    TimePart time;
    double bound = 1;
  };
  std::vector<OfCategory> categories = {};  // most time first, at least two
};

struct NotDelegated {
  static constexpr std::string_view kKind = "portable";
  TimePart time = {};
  std::int64_t operators = 0;
  UpperBound bound = {};
  TypeTimes types, takeable;  // takeable: those that XNNPACK could take in another form
  // What dividing the model into delegates costs in addition: the overhead of all calls but one, and what
  // moves data in the delegates at their boundaries.
  double boundaries_ns = 0;
};

// What it consists of: ReportExperiment::movement.
struct DataMoved {
  static constexpr std::string_view kKind = "data_movement";
  TimePart time = {};
  std::int64_t operators_at_edges = 0;  // at a delegate's boundary, which the change of backends costs
  double at_edges_ns = 0;
  UpperBound bound = {};
  TypeTimes types = {};
};

struct DelegateOverhead {
  static constexpr std::string_view kKind = "delegate_overhead";
  TimePart time = {};     // of traced runs
  double tracing_ns = 0;  // what of it may be the tracer's
  std::int64_t calls = 0;
};

// Operators that are slower, by a verdict and not by a point estimate.
struct SlowerOperators {
  static constexpr std::string_view kKind = "slower_operators";
  struct Loss {
    std::size_t op = 0;
    double baseline_ns = 0, candidate_ns = 0;
    double ns() const { return candidate_ns - baseline_ns; }
  };
  TimePart lost = {};
  std::vector<Loss> operators = {};  // by falling loss
};

struct FirstRun {
  static constexpr std::string_view kKind = "first_run";
  double first_ns = 0, steady_ns = 0;
  std::optional<double> load_ns = {};
};

// Types that the category table does not know: ReportExperiment::unknown_operators.
struct UnknownOperators {
  static constexpr std::string_view kKind = "unknown_operators";
  TimePart time = {};
  TypeTimes types = {};
};

// Packed (KleidiAI SME) operators ran on one side only.
struct PackedKernels {
  static constexpr std::string_view kKind = "kernel_evidence";
  bool with_candidate = false;  // they ran with it, and not with the baseline
};

// A watched run saw other code in matrix multiplications with the candidate than with the baseline.
struct ProvenCode {
  static constexpr std::string_view kKind = "kernel_evidence";
  std::vector<std::string> baseline = {}, candidate = {};  // classes, each once
  std::int64_t operators = 0;                              // of the candidate
};

// What ran contradicts the operators' names: MatrixKernelRow::contradicts.
struct NamesContradicted {
  static constexpr std::string_view kKind = "kernel_evidence";
  std::vector<std::size_t> operators = {};
};

// Matrix multiplications that another export would bring to KleidiAI: MatrixKernelRow::change.
struct NotOnKleidiai {
  static constexpr std::string_view kKind = "not_on_kleidiai";
  TimePart time = {};
  std::int64_t operators = 0;
};

// Operators of fp16 where none of the CPU features in use has fp16 arithmetic.
struct HalfAsFloat {
  static constexpr std::string_view kKind = "fp16_as_fp32";
  TimePart time = {};
  std::int64_t operators = 0;
};

struct BelowRoofline {
  static constexpr std::string_view kKind = "roofline";
  TimePart gap = {};
  bool of_traced_runs = false;         // traced and untraced times disagree: it bounds no latency
  std::vector<std::size_t> rows = {};  // indices into Roofline::rows, by falling gap
};

// A condition whose means over two sets of bursts differ.
struct ConditionChange {
  enum class Of { kClock, kClockCap, kTemperature, kLoad, kCappedRounds, kSkin, kCpu };
  Of of = Of::kClock;
  double first = 0, second = 0;  // GHz, degrees Celsius, processes, or the share of rounds
};
using ConditionChanges = std::vector<ConditionChange>;

// An operator's mean self time over two sets of runs.
struct OperatorShift {
  std::size_t op = 0;  // in Profile::operators
  double before_ns = 0, after_ns = 0;
};
// The operators that a change of the latency is confined to, by falling change: all others together stayed
// about the same. A slower machine would have slowed all of them. Empty: it is not confined.
using ConfinedTo = std::vector<OperatorShift>;

// What made latency vary while it was measured, over the medians of bursts, or over runs where there are
// none. One cause has one finding: a step is also a trend, and its sides are two levels.
struct LatencyStep {
  static constexpr std::string_view kKind = "noise";
  bool of_bursts = true;
  std::size_t from = 0, last = 0;  // numbers of bursts or runs, as their files count, from 1 on
  double before_ns = 0, after_ns = 0;
  ConditionChanges conditions = {};
  ConfinedTo operators = {};
};
struct LatencyTrend {
  static constexpr std::string_view kKind = "noise";
  bool of_bursts = true;
  std::size_t count = 0;  // of bursts or runs
  double change = 0;      // relative
  ConditionChanges conditions = {};
  ConfinedTo operators = {};
};
struct LatencyLevels {
  static constexpr std::string_view kKind = "noise";
  bool of_bursts = true;
  double low_ns = 0, high_ns = 0, share_high = 0;
  ConditionChanges conditions = {};
};

// Too few runs had a processor whenever they wanted one: Comparison::baseline_clean, candidate_clean.
struct Contended {
  static constexpr std::string_view kKind = "contention";
  bool throttled = false;  // at least half of the waiting was the quota of a control group
};

// The speedup of the processor time differs from that of the wall time by more than its interval.
struct CpuTimeApart {
  static constexpr std::string_view kKind = "cpu_time";
  double baseline_ns = 0, candidate_ns = 0;  // medians
};

struct CompilersDiffer {
  static constexpr std::string_view kKind = "compilers";
  std::string baseline, candidate;        // "": not known
  std::optional<TimePart> portable = {};  // kernels that they compiled, where they take time
  TypeTimes types = {};
};

// What probably sets the two apart.
struct TracingCause {
  enum class Kind { kUnknown, kDisturbedUntraced, kDisturbedTraced, kSlowerMachine, kTracer };
  Kind kind = Kind::kUnknown;
  double fastest_ns = 0;   // traced run
  double an_event_ns = 0;  // of kTracer
  std::size_t events = 0;
};

struct TracedApart {
  static constexpr std::string_view kKind = "tracing";
  TracedGap gap = {};
  TracingCause cause = {};
};

// The tables of a pair add up to another speedup than its headline.
struct TracedRatioApart {
  static constexpr std::string_view kKind = "tracing";
  double ratio = 1;                                // of the traced means
  double baseline_ns = 0, candidate_ns = 0;        // these
  std::optional<TracedApart> baseline, candidate;  // present together
  bool no_bounds = false;                          // of the candidate
};

}  // namespace finding

// Something worth doing or knowing. Ranked by `at_stake`, behind those of tracing.
struct Insight {
  using What =
      std::variant<finding::BottleneckShift, finding::Bottleneck, finding::UpperBounds, finding::NotDelegated,
                   finding::DataMoved, finding::DelegateOverhead, finding::SlowerOperators, finding::FirstRun,
                   finding::UnknownOperators, finding::PackedKernels, finding::ProvenCode,
                   finding::NamesContradicted, finding::NotOnKleidiai, finding::HalfAsFloat,
                   finding::BelowRoofline, finding::LatencyStep, finding::LatencyTrend,
                   finding::LatencyLevels, finding::Contended, finding::CpuTimeApart,
                   finding::CompilersDiffer, finding::TracedApart, finding::TracedRatioApart>;
  What what;
  double at_stake = 0;                   // ns of one inference
  std::size_t experiment = 0;            // index into Report::experiments
  std::optional<std::size_t> pair = {};  // index into Report::comparisons

  std::string_view kind() const {
    return std::visit([](const auto& of) { return of.kKind; }, what);
  }
};

}  // namespace etprof
