#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "profile/analysis/categories.h"

// The numbers of findings; show/subjects/findings/findings.cc has the wording. Unless stated otherwise, a
// time is the mean of one inference in ns, and an operator is an index into Profile::operators of the
// finding's experiment.
namespace etprof {

// The difference between the traced and untraced runs of an experiment.
struct TracedGap {
  double traced_ns = 0;    // mean of the common set, to which operators and groups add up
  double untraced_ns = 0;  // median, the headline
  double relative() const { return traced_ns / untraced_ns - 1; }
};

namespace finding {

// A part of the time of an inference. Both times are from the same runs.
struct TimePart {
  double ns = 0, whole_ns = 0;
  double share() const { return whole_ns > 0 ? ns / whole_ns : 0; }
};

// The sum over the operators of one type that meet a condition.
struct TypeTime {
  std::string type = {};
  std::int64_t operators = 0;
  double ns = 0;
  // Reasons why they are not delegated, if the program shows them: without duplicates, the reason of the most
  // expensive operator first.
  std::vector<std::string> not_delegated = {};
};
using TypeTimes = std::vector<TypeTime>;  // most time first

struct OperatorTime {
  std::size_t op = 0;
  double ns = 0;
};

// The largest possible speedup if a part took no time (Amdahl 1967): 1 / (1 - share). Absent: no bound, or
// not applicable to the latency, since the traces disagree with it.
using UpperBound = std::optional<double>;

// The change of a group's share of the time.
struct GroupShift {
  OperatorGroup group = OperatorGroup::kOther;
  TimePart baseline, candidate;
};

// The kinds of findings. kKind is the name of the kind in files. Findings on a pair have Finding::pair.
// Findings on tracing report that traced and untraced times disagree, which limits the meaning of all others,
// so they come first.

struct BottleneckShift {
  static constexpr std::string_view kKind = "bottleneck_shift";
  GroupShift from, to;                  // largest groups of the baseline and the candidate
  GroupShift grown_most = {};           // the group whose share grew most
  std::vector<GroupShift> groups = {};  // groups that take time
  bool HasMoved() const { return from.group != to.group; }
};

struct Bottleneck {
  static constexpr std::string_view kKind = "bottleneck";
  OperatorGroup group = OperatorGroup::kOther;
  TimePart time = {};
  std::int64_t operators = 0;
  UpperBound bound = {};
  std::optional<OperatorTime> most_expensive = {};  // absent: there is only one operator
  TypeTimes types = {};
};

struct UpperBounds {
  static constexpr std::string_view kKind = "amdahl";
  struct CategoryBound {
    std::string category;
    TimePart time;
    double bound = 1;
  };
  std::vector<CategoryBound> categories = {};  // most time first, at least two
};

struct NotDelegated {
  // A change that the export advises, and the operators that it would remove.
  struct Remedy {
    std::string text;
    std::int64_t operators = 0;
    double ns = 0;
  };
  static constexpr std::string_view kKind = "portable";
  TimePart time = {};
  std::int64_t operators = 0;
  UpperBound bound = {};
  TypeTimes types, delegable;  // delegable: operators that XNNPACK could take in another form
  // Additional costs of the division into delegates: the overhead of all calls but one, and data movement at
  // the boundaries of delegates.
  double boundaries_ns = 0;
  std::vector<Remedy> remedies = {};  // most time first
  // Bounds if all remedies were applied: without their operators, and also without the boundaries.
  UpperBound speedup_without_operators = {}, speedup_without_boundaries = {};
};

// Time of data movement; ReportExperiment::movement has the kinds.
struct DataMoved {
  static constexpr std::string_view kKind = "data_movement";
  TimePart time = {};
  std::int64_t boundary_operators = 0;  // operators at delegate boundaries, due to the change of backends
  double boundary_ns = 0;
  UpperBound bound = {};
  TypeTimes types = {};
};

struct DelegateOverhead {
  static constexpr std::string_view kKind = "delegate_overhead";
  TimePart time = {};     // from traced runs
  double tracing_ns = 0;  // the part that may be due to tracing
  std::int64_t calls = 0;
};

// Operators with the verdict "slower".
struct SlowerOperators {
  static constexpr std::string_view kKind = "slower_operators";
  struct SlowedOperator {
    std::size_t op = 0;
    double baseline_ns = 0, candidate_ns = 0;
    double LossNs() const { return candidate_ns - baseline_ns; }
  };
  TimePart lost_time = {};
  std::vector<SlowedOperator> operators = {};  // by decreasing loss
};

struct FirstRun {
  static constexpr std::string_view kKind = "first_run";
  double first_ns = 0, steady_ns = 0;
  std::optional<double> load_ns = {};
};

// Operators that are not in the category table: ReportExperiment::unknown_operators.
struct UnknownOperators {
  static constexpr std::string_view kKind = "unknown_operators";
  TimePart time = {};
  TypeTimes types = {};
};

// Packed (KleidiAI SME) operators ran in only one variant.
struct PackedKernels {
  static constexpr std::string_view kKind = "kernel_evidence";
  bool with_candidate = false;  // true: they ran only in the candidate
};

// Watched runs observed different code in the matrix multiplications of the two variants.
struct ObservedCode {
  static constexpr std::string_view kKind = "kernel_evidence";
  std::vector<std::string> baseline = {}, candidate = {};  // classes of code, without duplicates
  std::int64_t operators = 0;                              // number of operators of the candidate
};

// The observed code contradicts the operators' names: MatrixKernelRow::contradicts.
struct NamesContradicted {
  static constexpr std::string_view kKind = "kernel_evidence";
  std::vector<std::size_t> operators = {};
};

// Matrix multiplications that would use KleidiAI with another export: MatrixKernelRow::change.
struct NotOnKleidiai {
  static constexpr std::string_view kKind = "not_on_kleidiai";
  TimePart time = {};
  std::int64_t operators = 0;
};

// fp16 operators on a CPU whose features in use have no fp16 arithmetic.
struct Fp16ComputedAsFp32 {
  static constexpr std::string_view kKind = "fp16_as_fp32";
  TimePart time = {};
  std::int64_t operators = 0;
};

struct BelowRoofline {
  static constexpr std::string_view kKind = "roofline";
  TimePart gap = {};
  bool from_traced_runs = false;  // traced and untraced times disagree, so the gap does not bound the latency
  std::vector<std::size_t> rows = {};  // indices into Roofline::rows, by decreasing gap
};

// A condition with different means over two sets of bursts.
struct ConditionChange {
  enum class Condition { kClock, kClockCap, kTemperature, kLoad, kCappedRounds, kSkin, kCpu };
  Condition condition = Condition::kClock;
  double first = 0, second = 0;  // GHz, degrees Celsius, number of processes, or share of rounds
};
using ConditionChanges = std::vector<ConditionChange>;

// The mean self times of an operator over two sets of runs.
struct OperatorShift {
  std::size_t op = 0;  // index into Profile::operators
  double before_ns = 0, after_ns = 0;
};
// The operators to which a change of the latency is confined, by decreasing change: the sum of all others
// stayed about the same. A slower machine would have slowed all of them. Empty: not confined.
using ConfinedOperators = std::vector<OperatorShift>;

// Causes of latency that varied during the measurement, over the medians of bursts, or over runs if there are
// no bursts. A step is not also reported as a trend and as two levels. `may_be_processes`: the launches, of
// which each is at its own level, may show it by chance (memory layout), and no clock explains it.
struct LatencyStep {
  static constexpr std::string_view kKind = "noise";
  bool uses_bursts = true;
  std::size_t from = 0, last = 0;  // numbers of bursts or runs in their files, counted from 1
  double before_ns = 0, after_ns = 0;
  ConditionChanges conditions = {};
  ConfinedOperators operators = {};
  bool may_be_processes = false;
};
struct LatencyTrend {
  static constexpr std::string_view kKind = "noise";
  bool uses_bursts = true;
  std::size_t count = 0;  // number of bursts or runs
  double change = 0;      // relative
  ConditionChanges conditions = {};
  ConfinedOperators operators = {};
  bool may_be_processes = false;
};
struct LatencyLevels {
  static constexpr std::string_view kKind = "noise";
  bool uses_bursts = true;
  double low_ns = 0, high_ns = 0, share_high = 0;
  ConditionChanges conditions = {};
  bool may_be_processes = false;
};

// Too few runs had a processor whenever they were runnable: Comparison::baseline_clean, candidate_clean.
struct Contended {
  static constexpr std::string_view kKind = "contention";
  bool waited_for_quota = false;  // at least half of the waiting was due to the quota of a cgroup
};

// The speedup in CPU time differs from the speedup in wall time by more than its interval.
struct CpuTimeDiscrepancy {
  static constexpr std::string_view kKind = "cpu_time";
  double baseline_ns = 0, candidate_ns = 0;  // medians
};

struct CompilersDiffer {
  static constexpr std::string_view kKind = "compilers";
  std::string baseline, candidate;        // "": not known
  std::optional<TimePart> portable = {};  // kernels that these compilers compiled, if they take time
  TypeTimes types = {};
};

// The probable cause of a difference between traced and untraced times.
struct TracingCause {
  enum class Kind { kUnknown, kDisturbedUntraced, kDisturbedTraced, kSlowerMachine, kTracer };
  Kind kind = Kind::kUnknown;
  double fastest_ns = 0;    // ns; fastest traced run
  double ns_per_event = 0;  // ns per event, for kTracer
  std::size_t events = 0;
};

struct TracingDiscrepancy {
  static constexpr std::string_view kKind = "tracing";
  TracedGap gap = {};
  TracingCause cause = {};
};

// The tables of a pair add up to a different speedup than the headline.
struct TracedSpeedupDiscrepancy {
  static constexpr std::string_view kKind = "tracing";
  double ratio = 1;                                       // ratio of the traced means
  double baseline_ns = 0, candidate_ns = 0;               // the traced means
  std::optional<TracingDiscrepancy> baseline, candidate;  // both present or both absent
  bool no_bounds = false;  // there are no upper bounds of what the candidate could save
};

}  // namespace finding

// A finding. Ordered by `impact_ns`, after findings on tracing.
struct Finding {
  using Details =
      std::variant<finding::BottleneckShift, finding::Bottleneck, finding::UpperBounds, finding::NotDelegated,
                   finding::DataMoved, finding::DelegateOverhead, finding::SlowerOperators, finding::FirstRun,
                   finding::UnknownOperators, finding::PackedKernels, finding::ObservedCode,
                   finding::NamesContradicted, finding::NotOnKleidiai, finding::Fp16ComputedAsFp32,
                   finding::BelowRoofline, finding::LatencyStep, finding::LatencyTrend,
                   finding::LatencyLevels, finding::Contended, finding::CpuTimeDiscrepancy,
                   finding::CompilersDiffer, finding::TracingDiscrepancy, finding::TracedSpeedupDiscrepancy>;
  Details details;
  double impact_ns = 0;                  // ns per inference
  std::size_t experiment = 0;            // index into Report::experiments
  std::optional<std::size_t> pair = {};  // index into Report::comparisons

  std::string_view kind() const {
    return std::visit([](const auto& finding) { return finding.kKind; }, details);
  }
};

}  // namespace etprof
