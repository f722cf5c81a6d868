#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/categories.h"
#include "analysis/join/program_join.h"
#include "analysis/sampled_runs.h"
#include "core/column.h"
#include "core/json/describe.h"
#include "core/units.h"
#include "etdump/trace.h"
#include "stats/distribution.h"

namespace etprof {

enum class SpanKind : std::uint8_t {
  kMethod,        // Method::execute; its self time is framework overhead
  kOperatorCall,  // OPERATOR_CALL; its self time is framework overhead, or all the time of an unlogged kernel
  kDelegateCall,  // DELEGATE_CALL; its self time is delegate overhead, or all the time of an opaque delegate
  kKernel,        // a kernel outside of delegates: native_call_<aten op>, or a custom one's own name
  kBackend,       // a delegate's own operator
  kOther,         // any other framework event inside Method::execute
};
std::string_view SpanKindName(
    SpanKind kind);  // "method", "operator_call", "delegate_call", "kernel", "backend", "other"

// What makes an operator the same one in every run. The name alone does not: XNNPACK numbers its operators
// anew in every delegate.
struct OperatorKey {
  std::string method;  // "forward"
  std::int32_t chain = 0;
  std::int32_t instruction = 0;  // -1 for Method::execute
  SpanKind kind = SpanKind::kMethod;
  std::int32_t ordinal = 0;     // place within the call, counted from 0 (of backend operators and kernels)
  std::int32_t occurrence = 0;  // how many times this instruction had run before in the same run (loops)
  auto operator<=>(const OperatorKey&) const = default;
  bool operator==(const OperatorKey&) const = default;
};
// "forward/3/backend/2": short, stable, unique within a profile.
std::string KeyText(const OperatorKey& key);

struct Operator {
  OperatorKey key;
  std::string name;  // as ExecuTorch's Inspector shows it
  std::string
      type;  // the name without XNNPACK's number and without native_call_: "Convolution (NHWC, F32) IGEMM"
  std::string backend;  // of a delegate's: "XnnpackBackend" where that is known or evident; else ""
  Category category;
  std::int32_t parent = -1;  // index into Profile::operators; -1 for Method::execute
  std::int32_t call_index =
      -1;  // which delegate or operator call of the run this belongs to, in order; -1 for the method
  bool portable = false;  // a kernel that is not delegated
};

enum class Phase : std::uint8_t {
  kFirst,   // the first run of a process: weight packing, page faults
  kWarmup,  // before the latency was level
  kSteady,
  kDisturbed,  // steady, but its threads had to wait for a processor: no table is made of it
};
template <>
inline constexpr NamedValue<Phase> kNames<Phase>[] = {{Phase::kFirst, "first"},
                                                      {Phase::kWarmup, "warmup"},
                                                      {Phase::kSteady, "steady"},
                                                      {Phase::kDisturbed, "disturbed"}};

// What is known of a traced run from outside the ETDump.
struct RunLabel {
  int launch = 0;  // which process, counted from 0
  int round = 0;   // which round of that launch; -1: none
  Phase phase = Phase::kSteady;
};

struct ProfiledRun {
  RunLabel label;
  std::uint32_t block = 0;        // of the trace
  std::uint32_t first_event = 0;  // of the block, where the run begins
  std::uint32_t layout = 0;       // index into Profile::layouts, which says what the events are
  Nanoseconds total = 0;          // Method::execute
  Nanoseconds clipped = 0;        // <= 0: what spans claimed outside their parent or twice
  bool in_common_set = false;     // one of the runs that tables which must add up are made of
};

// How the self time of one operator, or of several together, is spread over the runs.
struct SpanStatistics {
  std::int64_t runs = 0;       // of the common set that it ran in
  Nanoseconds total_self = 0;  // sums over the common set
  Nanoseconds total_duration = 0;
  stats::Distribution self;  // over all steady runs that it ran in (of the common set where none is steady)
};

// What a delegate reports that is not host time (Trace::Reported): never added to times or compared with
// them.
struct ReportedValue {
  std::string backend;  // "": not known
  std::string name;
  ValueKind kind = ValueKind::kUnknown;
  std::string unit;  // "": not known
  std::int32_t instruction = 0;
  stats::Distribution values;  // in that unit, over the runs that DescribedRuns are

  static constexpr const char* kSchemaName = "delegate_value";
  static void Describe(auto& v) {
    using R = ReportedValue;
    const auto of = [](std::optional<double> stats::Distribution::*member) {
      return [member](const R& value) { return value.values.*member; };
    };
    v("delegate", &R::backend, {.meaning = "null: not known", .or_null = true});
    v("name", &R::name, {.meaning = "of the event, as the delegate's kind of event is called"});
    v("kind", &R::kind, {.meaning = "docs/concepts/kernels.md"});
    v("unit", &R::unit, {.meaning = "null: not known", .or_null = true});
    v("instruction", &R::instruction, {.meaning = "of the delegate call", .least = kAnyNumber});
    v("n", [](const R& value) { return value.values.n; },
      {.meaning = "runs that reported it, of those that `median`, `min`, and `max` are of"});
    v("median", of(&stats::Distribution::p50), {.meaning = "over these runs, in `unit`"});
    v("min", of(&stats::Distribution::min), {.meaning = "over these runs, in `unit`"});
    v("max", of(&stats::Distribution::max), {.meaning = "over these runs, in `unit`"});
  }
};

// What a delegate adds to its events beside a number, in all runs.
struct DelegateMetadata {
  std::string backend;  // "": not known
  std::string event;
  std::int32_t instruction = 0;
  std::int64_t events = 0;
  std::size_t size = 0;  // of the first event's, bytes
  std::string text;      // the first event's; "": it is no text, or more than Trace::Metadata::kMost
  bool varies = false;   // not all events have the same

  static constexpr const char* kSchemaName = "delegate_metadata";
  static void Describe(auto& v) {
    using M = DelegateMetadata;
    v("delegate", &M::backend, {.meaning = "null: not known", .or_null = true});
    v("event", &M::event, {.meaning = "name of the events"});
    v("instruction", &M::instruction, {.meaning = "of the delegate call", .least = kAnyNumber});
    v("events", &M::events, {.meaning = "how many have it, in all runs"});
    v("bytes", &M::size, {.meaning = "of the first event's"});
    v("text", &M::text, {.meaning = "the first event's; null: it is no text, or too long", .or_null = true});
    v("varies", &M::varies, {.meaning = "not all events have the same"});
  }
};

// Where the time of one experiment goes. Self times of run r: for every operator `Self(op, r)`; their sum
// over the operators plus `runs[r].clipped` is `runs[r].total` exactly.
struct Profile {
  std::string experiment;
  std::string model_id;
  std::vector<Operator>
      operators;  // in the order of their end in the first run they occur in, parents after children
  std::vector<ProfiledRun> runs;  // every complete traced run, in the file's order
  // What a run's events are: entry i is the operator (index into `operators`) of the run's event i.
  std::vector<std::vector<std::int32_t>> layouts;
  // operators.size() x runs.size(), row-major by operator; kAbsent where an operator did not run in that run.
  static constexpr Nanoseconds kAbsent = -1;
  Column<Nanoseconds> self;
  // The same of durations, but only of operators that have children in some run: of the others duration and
  // self time are one. Entry i of `duration_row` is operator i's row; kNoRow where it has none.
  static constexpr std::uint32_t kNoRow = 0xffffffff;
  std::vector<std::uint32_t> duration_row;
  Column<Nanoseconds> duration;
  std::optional<Nanoseconds>
      load_method;  // Method::init + Program::load_method of the first block that has them
  // Made by Attribute of what is above.
  std::vector<SpanStatistics> statistics;                               // by operator
  std::vector<stats::Distribution> groups;                              // self time of a run, by kAllGroups
  std::vector<std::pair<std::string, stats::Distribution>> categories;  // likewise, by name
  stats::Distribution whole;                                            // Method::execute of the steady runs
  std::vector<ReportedValue> reported;
  std::vector<DelegateMetadata> metadata;
  Health health;
  std::optional<ProgramJoin> program;  // JoinProgram (join.h), where which .pte ran is known
  SampledRuns sampled;                 // SampleRuns; empty: not asked for

  std::span<const Nanoseconds> Self(std::size_t op) const {
    return {self.data() + op * runs.size(), runs.size()};
  }
  std::span<const Nanoseconds> Duration(std::size_t op) const {
    if (duration_row[op] == kNoRow) return Self(op);
    return {duration.data() + duration_row[op] * runs.size(), runs.size()};
  }
  std::vector<std::size_t> RunsOf(Phase phase) const;
  std::vector<std::size_t> CommonSet() const;      // indices into runs
  std::vector<std::size_t> DescribedRuns() const;  // the steady ones; the common set where there is none
};

// Builds the Profile of a trace. `labels` has one entry for each run (block with a Method::execute, in
// order), or is empty: then the first run of the file is kFirst and the warm-up is found from the latencies
// (stats/level.h), with at least `minimum_warmup` runs of it. Odd traces do not throw, what is odd is in
// Profile::health; only one whose runs have nothing in common does (Error, kBadInput), since its table would
// be quadratic in the file.
struct AttributeOptions {
  std::string experiment;
  std::string model_id;
  std::string method = "forward";
  std::vector<RunLabel> labels;
  int minimum_warmup = 0;
  std::size_t threads = 0;  // at most; 0: as many as the machine has cores. The result is the same.
};
Profile Attribute(const Trace& trace, const AttributeOptions& options);

// The same for a trace of which nothing else is known: one Profile for each method, in the order of their
// first runs. An ETDump does not name methods; where several were initialized (Method::init), runs whose
// events differ in more than their times are taken for different methods, as ExecuTorch's Inspector does.
// With one method, or when `options.labels` says what the runs are, it is Attribute's.
std::vector<Profile> AttributeMethods(const Trace& trace, const AttributeOptions& options);

// A table whose rows add up: integer sums of self time over the common set of runs.
struct AdditiveRow {
  std::string name;
  Nanoseconds total = 0;  // sum over the common set; divided by Breakdown::runs it is the mean
  std::int64_t operators = 0;
};
struct Breakdown {
  std::int64_t runs = 0;  // size of the common set
  Nanoseconds total = 0;  // Method::execute; the rows add up to it exactly
  std::vector<AdditiveRow> rows;
};
Breakdown ByGroup(const Profile& profile);     // kAllGroups in order, then "Clipped"
Breakdown ByCategory(const Profile& profile);  // fine categories present, by name, then "Clipped"
Breakdown ByOperator(const Profile& profile);  // row i is operators[i]; the last row is "Clipped"
// By the innermost module, in the order in which the modules first run: its path ("features.0.0"; "" is the
// model). Then kNotAttributed, where an operator has no module, the overheads and "Clipped".
Breakdown ByLayer(const Profile& profile);
// By the model's line: "model.py:142", likewise.
Breakdown BySourceLine(const Profile& profile);
// By the delegate: "XnnpackBackend at instruction 3", or "portable", likewise.
Breakdown ByDelegate(const Profile& profile);
// By the kind of kernel: "Convolution (NHWC, F32) IGEMM", or a portable kernel's name, likewise.
Breakdown ByKernel(const Profile& profile);
// What these rows are called; absent where an operator has none.
std::optional<std::string> LayerOf(const Profile& profile, std::size_t op);
std::optional<std::string> SourceLineOf(const Profile& profile, std::size_t op);
std::optional<std::string> DelegateOf(const Profile& profile, std::size_t op);
std::optional<std::string> KernelOf(const Profile& profile, std::size_t op);
inline constexpr const char* kNotAttributed = "(not attributed)";
Breakdown ByPlace(const Profile& profile);  // "Delegated (XnnpackBackend)", "Portable", overheads, "Clipped"

}  // namespace etprof
