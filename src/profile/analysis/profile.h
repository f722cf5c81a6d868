#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/column.h"
#include "core/json/describe.h"
#include "core/units.h"
#include "format/etdump/trace.h"
#include "profile/analysis/categories.h"
#include "profile/analysis/join/program_join.h"
#include "profile/analysis/sampled_runs.h"
#include "stats/distribution.h"

namespace etprof {

enum class SpanKind : std::uint8_t {
  kMethod,        // Method::execute; its self time is framework overhead
  kOperatorCall,  // OPERATOR_CALL; its self time is framework overhead, or all the time of an unlogged kernel
  kDelegateCall,  // DELEGATE_CALL; its self time is delegate overhead, or all the time of an opaque delegate
  kKernel,        // a kernel outside of delegates: native_call_<aten op>, or the name of a custom kernel
  kBackend,       // an operator in a delegate
  kOther,         // any other framework event inside Method::execute
};
template <>
inline constexpr const char* kNames<SpanKind>[] = {"method", "operator_call", "delegate_call",
                                                   "kernel", "backend",       "other"};
inline std::string_view SpanKindName(SpanKind kind) { return GetName(kind); }

// Identifies an operator in all runs. The name is not sufficient: XNNPACK numbers operators separately in
// each delegate.
struct OperatorKey {
  std::string method;  // "forward"
  std::int32_t chain = 0;
  std::int32_t instruction = 0;  // -1 for Method::execute
  SpanKind kind = SpanKind::kMethod;
  std::int32_t ordinal = 0;     // position in the call, counted from 0 (backend operators and kernels)
  std::int32_t occurrence = 0;  // number of earlier executions of the instruction in the same run (loops)
  auto operator<=>(const OperatorKey&) const = default;
};
// "forward/3/backend/2": short, stable, unique within a profile.
std::string KeyText(const OperatorKey& key);

struct Operator {
  OperatorKey key;
  std::string name;     // as ExecuTorch's Inspector shows it
  std::string type;     // name without XNNPACK's number and native_call_: "Convolution (NHWC, F32) IGEMM"
  std::string backend;  // the delegate's backend, "XnnpackBackend", if known or evident; else ""
  Category category;
  std::int32_t parent = -1;      // index into Profile::operators; -1 for Method::execute
  std::int32_t call_index = -1;  // number of its delegate or operator call in the run, from 0; -1: the method
  bool portable = false;         // a kernel that is not delegated

  static void Describe(auto& v) {
    using O = Operator;
    v("key", [](const O& op) { return KeyText(op.key); },
      {.meaning = "unique in the experiment: method, instruction, kind, place in the call"});
    v("name", &O::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("type", &O::type, {.meaning = "the name without its running number"});
    v("backend", &O::backend, {.meaning = "of a delegate's operator", .or_null = true});
    v("portable", &O::portable, {.meaning = "a kernel that is not delegated"});
    v("category", [](const O& op) { return op.category.name; },
      {.meaning = "what it computes, finer than `group`"});
    v("group", [](const O& op) { return OperatorGroupName(op.category.group); },
      {.meaning = "what it computes"});
    v("call", [](const O& op) { return op.call_index >= 0 ? std::optional(op.call_index) : std::nullopt; },
      {.meaning = "which delegate or operator call of a run it belongs to, from 0"});
  }
};

enum class Phase : std::uint8_t {
  kFirst,   // the first run of a process: weight packing, page faults
  kWarmup,  // before the latency stabilized
  kSteady,
  kDisturbed,  // steady, but its threads waited for a processor; not used for tables
};
template <>
inline constexpr const char* kNames<Phase>[] = {"first", "warmup", "steady", "disturbed"};

// Information about a traced run from outside the ETDump.
struct RunLabel {
  int launch = 0;  // number of the process, counted from 0
  int round = 0;   // number of the round in the launch; -1: no rounds
  Phase phase = Phase::kSteady;
};

struct ProfiledRun {
  RunLabel label;
  std::uint32_t block = 0;        // index into the trace's blocks
  std::uint32_t first_event = 0;  // event of the block with which the run begins
  std::uint32_t layout = 0;       // index into Profile::layouts, which identifies the events
  Nanoseconds total = 0;          // duration of Method::execute
  Nanoseconds clipped = 0;        // <= 0; the time of spans outside their parent or counted twice
  bool in_common_set = false;     // the run is used for tables that add up
};

// The distribution of the self time of one operator, or of several together, over the runs.
struct SpanStatistics {
  std::int64_t runs = 0;       // number of runs of the common set in which the operator ran
  Nanoseconds total_self = 0;  // ns; sum over the common set
  Nanoseconds total_duration = 0;
  stats::Distribution self;  // over the SteadyOrCommonRuns() in which the operator ran
};

// A value that a delegate reports other than host time (Trace::ReportedValues). It is never added to times or
// compared with times.
struct ReportedValue {
  std::string backend;  // "": not known
  std::string name;
  ValueKind kind = ValueKind::kUnknown;
  std::string unit;  // "": not known
  std::int32_t instruction = 0;
  stats::Distribution values;  // in `unit`, over SteadyOrCommonRuns()

  static constexpr const char* kSchemaName = "delegate_value";
  static void Describe(auto& v) {
    using R = ReportedValue;
    const auto get_statistic = [](std::optional<double> stats::Distribution::*member) {
      return [member](const R& value) { return value.values.*member; };
    };
    v("delegate", &R::backend, {.meaning = "null: not known", .or_null = true});
    v("name", &R::name, {.meaning = "of the event, as the delegate's kind of event is called"});
    v("kind", &R::kind, {.meaning = "docs/concepts/kernels.md"});
    v("unit", &R::unit, {.meaning = "null: not known", .or_null = true});
    v("instruction", &R::instruction, {.meaning = "of the delegate call", .min = kNoMinimum});
    v("n", [](const R& value) { return value.values.n; },
      {.meaning = "runs that reported it, of those that `median`, `min`, and `max` are of"});
    v("median", get_statistic(&stats::Distribution::p50), {.meaning = "over these runs, in `unit`"});
    v("min", get_statistic(&stats::Distribution::min), {.meaning = "over these runs, in `unit`"});
    v("max", get_statistic(&stats::Distribution::max), {.meaning = "over these runs, in `unit`"});
  }
};

// Metadata that a delegate adds to its events besides a number, over all runs.
struct DelegateMetadata {
  std::string backend;  // "": not known
  std::string event;
  std::int32_t instruction = 0;
  std::int64_t events = 0;
  std::size_t size = 0;  // bytes; size of the first event's metadata
  std::string text;  // metadata of the first event; "": not text, or longer than Trace::Metadata::kMaxBytes
  bool varies = false;  // the events have different metadata

  static constexpr const char* kSchemaName = "delegate_metadata";
  static void Describe(auto& v) {
    using M = DelegateMetadata;
    v("delegate", &M::backend, {.meaning = "null: not known", .or_null = true});
    v("event", &M::event, {.meaning = "name of the events"});
    v("instruction", &M::instruction, {.meaning = "of the delegate call", .min = kNoMinimum});
    v("events", &M::events, {.meaning = "how many have it, in all runs"});
    v("bytes", &M::size, {.meaning = "of the first event's"});
    v("text", &M::text, {.meaning = "the first event's; null: it is no text, or too long", .or_null = true});
    v("varies", &M::varies, {.meaning = "not all events have the same"});
  }
};

// The time breakdown of one experiment. `Self(op)[r]` is the self time of an operator in run r; the sum over
// the operators plus `runs[r].clipped` is exactly `runs[r].total`.
struct Profile {
  std::string experiment;
  std::string model_id;
  std::vector<Operator> operators;  // in the order of their ends in their first run, parents after children
  std::vector<ProfiledRun> runs;    // every complete traced run, in the file's order
  // The operators of a run's events: entry i is the operator (index into `operators`) of the run's event i.
  std::vector<std::vector<std::int32_t>> layouts;
  // operators.size() x runs.size(), row-major by operator; kAbsent if an operator did not run in that run.
  static constexpr Nanoseconds kAbsent = -1;
  Column<Nanoseconds> self;
  // Durations in the same layout, but only for operators that have children in some run: for all others,
  // duration and self time are equal. Entry i of `duration_row` is the row of operator i, or kNoRow.
  static constexpr std::uint32_t kNoRow = 0xffffffff;
  std::vector<std::uint32_t> duration_row;
  Column<Nanoseconds> duration;
  std::optional<Nanoseconds> load_method;  // Method::init + Program::load_method of the first block with them
  // ComputeStatistics computes the members from here to `execute_time` from those above.
  std::vector<SpanStatistics> statistics;   // indexed by operator
  std::vector<stats::Distribution> groups;  // self time per run, in the order of kAllOperatorGroups
  std::vector<std::pair<std::string, stats::Distribution>> categories;  // self time per run, by category name
  stats::Distribution execute_time;  // time of Method::execute in the steady runs
  std::vector<ReportedValue> reported;
  std::vector<DelegateMetadata> metadata;
  TraceHealth health;
  std::optional<ProgramJoin> program;  // result of JoinProgram (join.h); absent: the .pte is not known
  SampledRuns sampled;                 // result of SampleRuns; empty: not requested

  // The method whose runs these are; "" without operators.
  std::string MethodName() const { return operators.empty() ? "" : operators.front().key.method; }
  std::span<const Nanoseconds> Self(std::size_t op) const {
    return {self.data() + op * runs.size(), runs.size()};
  }
  std::span<const Nanoseconds> Duration(std::size_t op) const {
    if (duration_row[op] == kNoRow) return Self(op);
    return {duration.data() + duration_row[op] * runs.size(), runs.size()};
  }
  std::vector<std::size_t> RunsInPhase(Phase phase) const;
  std::vector<std::size_t> CommonSet() const;  // indices into runs
  // The steady runs, or the common set if no run is steady.
  std::vector<std::size_t> SteadyOrCommonRuns() const;
  std::vector<double> Totals(const std::vector<std::size_t>& run_indices) const;  // total times in ns
};

// Builds the Profile of a trace. `labels` has one entry for each run (block with a Method::execute, in
// order). If `labels` is empty, the first run of the file and the first after each Method::init are kFirst,
// and the warm-up is derived from the latencies of the runs with equal events (stats/stability.h), with at
// least `min_warmup` runs.
// Irregular traces do not throw; they are reported in Profile::health. Only a trace whose runs have nothing
// in common throws (Error, kBadInput), since its table would be quadratic in the file.
struct AttributeOptions {
  std::string experiment;
  std::string model_id;
  std::string method = "forward";
  std::vector<RunLabel> labels;
  int min_warmup = 0;
  std::size_t threads = 0;  // maximum number; 0: one per core. The result does not depend on it.
};
Profile Attribute(const Trace& trace, const AttributeOptions& options);
// Fills `statistics`, `groups`, `categories`, and `execute_time` from the other members of a profile, on up
// to `threads` threads (0: one per core).
void ComputeStatistics(Profile& profile, std::size_t threads);

// Builds one Profile for each method, in the order of their first runs, for a trace whose methods are not
// known. An ETDump does not name methods. If several were initialized (Method::init), runs whose events
// differ in more than their times are assigned to different methods, as in ExecuTorch's Inspector. So are
// runs that have different operators at the same place, if no Method::init tells how many methods there are.
// With one method, or if `options.labels` describes the runs, the result is that of Attribute.
std::vector<Profile> AttributeMethods(const Trace& trace, const AttributeOptions& options);

// Rows of breakdowns by name for operators without a name, and for the time of spans outside of their parent
// or counted twice.
inline constexpr const char* kNotAttributed = "(not attributed)";
inline constexpr const char* kClipped = "Clipped";

struct Breakdown;
// A row of a Breakdown.
struct AdditiveRow {
  std::string name;
  Nanoseconds total = 0;  // sum over the common set; divided by Breakdown::runs it is the mean
  std::int64_t operators = 0;
  std::optional<stats::Distribution> self = {};  // self time per run; only for groups and categories

  std::optional<double> Mean(const Breakdown& breakdown) const;
  std::optional<double> Share(const Breakdown& breakdown) const;
  bool IsOutsideOperators() const;  // whether the row is an overhead or kClipped

  static void Describe(auto& v) {
    v("name", &AdditiveRow::name,
      {.meaning = "group, category, place, module, line, or delegate; `Clipped`: time that spans claimed "
                  "outside of their parent, or twice"});
    v("total_ns", &AdditiveRow::total, {.meaning = "self time over the table's runs", .min = kNoMinimum});
    v("operators", &AdditiveRow::operators,
      {.meaning = "distinct ones, calls and the method itself among them"});
    v("mean_ms", &AdditiveRow::Mean, kMs.WithMeaning("self time of one run, on average"));
    v("share", &AdditiveRow::Share, {.meaning = "of the table's total_ns"});
    v("self_ms", &AdditiveRow::self,
      {.meaning = "of groups and categories: how the row's time of a run is spread over the runs"});
  }
};
// A table whose rows add up: integer sums of self time over the common set of runs.
struct Breakdown {
  std::int64_t runs = 0;  // size of the common set
  Nanoseconds total = 0;  // Method::execute; the rows add up to it exactly
  std::vector<AdditiveRow> rows;

  static constexpr const char* kSchemaName = "breakdown";
  static void Describe(auto& v) {
    v("runs", &Breakdown::runs, {.meaning = "traced runs that it is made of: the common set"});
    v("total_ns", &Breakdown::total,
      {.meaning = "the total_ns of the rows add up to it, exactly", .min = kNoMinimum});
    v("rows", &Breakdown::rows, {.meaning = "the parts of the whole"});
  }
};
Breakdown ByGroup(const Profile& profile);  // kAllOperatorGroups in order, then "Clipped"
// The same over these runs instead of the common set.
Breakdown ByGroup(const Profile& profile, const std::vector<std::size_t>& runs);
// The self time of an operator in these runs together, in ns.
Nanoseconds SumSelf(const Profile& profile, std::size_t op, const std::vector<std::size_t>& runs);
Breakdown ByCategory(const Profile& profile);  // fine categories present, by name, then "Clipped"
// Returns an operator's row name in a breakdown by name; absent: kNotAttributed or an overhead.
using OperatorNameFunction = std::optional<std::string> (*)(const Profile& profile, std::size_t op);
// The path of the innermost module: "features.0.0"; "" is the model.
std::optional<std::string> LayerName(const Profile& profile, std::size_t op);
// The source line: "model.py:142".
std::optional<std::string> SourceLineName(const Profile& profile, std::size_t op);
// "XnnpackBackend at instruction 3" or "portable".
std::optional<std::string> DelegateName(const Profile& profile, std::size_t op);
// The kind of kernel: "Convolution (NHWC, F32) IGEMM", or the name of a portable kernel.
std::optional<std::string> KernelName(const Profile& profile, std::size_t op);
// Breakdown by name, in the order in which the names first run. Then follow kNotAttributed (operators without
// a name), the overheads, and "Clipped".
Breakdown ByNameInOrder(const Profile& profile, OperatorNameFunction get_name);
// The rows are "Delegated (XnnpackBackend)", "Portable", the overheads, and "Clipped".
Breakdown ByDelegation(const Profile& profile);

}  // namespace etprof
