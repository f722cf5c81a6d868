#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "core/views.h"
#include "measure/config/config_keys.h"
#include "program/tensors.h"
#include "render/csv/csv_table.h"
#include "report/kernels/watched.h"
#include "report/report.h"
#include "say/run/report.h"

// JSON views of an entry of "experiments" in analysis_summary.json.
namespace etprof {

// A table with rows that add up to a total.
struct BreakdownJson {
  const Breakdown& of;
  // The distributions of the rows' self times over the runs, keyed by the row's name; empty if the rows have
  // none.
  std::map<std::string_view, const stats::Distribution*> self = {};

  struct Row {
    const Breakdown& in;
    const AdditiveRow& of;
    const stats::Distribution* distribution;

    static void Describe(auto& v) {
      using J = const Row&;
      v("name", &AdditiveRow::name,
        {.meaning = "group, category, place, module, line, or delegate; `Clipped`: time that spans claimed "
                    "outside of their parent, or twice"});
      v("total_ns", &AdditiveRow::total, {.meaning = "self time over the table's runs", .least = kAnyNumber});
      v("operators", &AdditiveRow::operators,
        {.meaning = "distinct ones, calls and the method itself among them"});
      v(
          "mean_ms", [](J json) { return QuotientIfDefined(json.of.total, json.in.runs); },
          kMs.WithMeaning("self time of one run, on average"));
      v("share", [](J json) { return QuotientIfDefined(json.of.total, json.in.total); },
        {.meaning = "of the table's total_ns"});
      v("self_ms", [](J json) { return json.distribution; },
        {.meaning = "of groups and categories: how the row's time of a run is spread over the runs"});
    }
  };

  static constexpr const char* kSchemaName = "breakdown";
  static void Describe(auto& v) {
    v("runs", &Breakdown::runs, {.meaning = "traced runs that it is made of: the common set"});
    v("total_ns", &Breakdown::total,
      {.meaning = "the total_ns of the rows add up to it, exactly", .least = kAnyNumber});
    v("rows",
      [](const BreakdownJson& json) {
        return MapEach(json.of.rows, [&](const AdditiveRow& row) {
          const auto found = json.self.find(row.name);
          return Row{json.of, row, found == json.self.end() ? nullptr : found->second};
        });
      },
      {.meaning = "the parts of the whole"});
  }
};

inline std::vector<std::string> OperatorKeys(const Profile& profile,
                                             const std::vector<std::size_t>& operators) {
  return MapEach(operators, [&](std::size_t op) { return KeyText(profile.operators[op].key); });
}

// The part of the program that an operator was joined to.
struct SourceJson {
  const Profile& profile;
  const OperatorSource& of;

  const SourcePlace* Place() const { return of.place ? &profile.program->places[*of.place] : nullptr; }
  const SourceModule* Module() const {
    return Place() != nullptr && !Place()->modules.empty() ? &Place()->modules.back() : nullptr;
  }
  const SourceFrame* Frame() const {
    return Place() != nullptr && Place()->frame ? &*Place()->frame : nullptr;
  }
  std::optional<std::string> Line() const {  // "net.py:12"
    return Frame() != nullptr ? std::optional(fmt::format("{}:{}", Frame()->file, Frame()->line))
                              : std::nullopt;
  }

  static constexpr const char* kSchemaName = "operator_source";
  static void Describe(auto& v) {
    using J = const SourceJson&;
    v("join", &OperatorSource::join,
      {.meaning = "what of the program it is: nodes of a delegate's graph, inserted by XNNPACK for the next "
                  "operator, an instruction"});
    v("why", &OperatorSource::why, {.meaning = "of none: why", .or_null = true});
    v("why_not_delegated", &OperatorSource::not_delegated_reason,
      {.meaning = "of an instruction: why it is in no XNNPACK delegate, as far as the program shows it",
       .or_null = true});
    v("layer", [](J json) { return json.Module() ? &json.Module()->path : nullptr; },
      {.meaning = "path of the innermost module; empty: the model itself"});
    v("layer_type", [](J json) { return json.Module() ? &json.Module()->type : nullptr; },
      {.meaning = "class of that module"});
    v("source", &SourceJson::Line, {.meaning = "file:line of the model"});
    v("function", [](J json) { return json.Frame() ? &json.Frame()->function : nullptr; },
      {.meaning = "of the model, that the line is in"});
    v("between", &OperatorSource::between,
      {.meaning = "a conversion that no line of the model stands for; its layer is that of the operator that "
                  "it serves"});
    v("nodes", &OperatorSource::nodes,
      {.meaning = "of the delegate's graph: its own first, then those that are fused into it"});
    v("debug_handles", &OperatorSource::debug_handles,
      {.meaning = "of the edge program's nodes, as in the .etrecord"});
    v("shape", [](J json) { return FormatTensors(json.of.tensors); },
      {.meaning = "what is read -> what is written, sizes and types: 1x3, 3x4, 4 -> 1x4 fp32; \"at most\" "
                  "or \"unbounded\" ends it where sizes change at run time",
       .or_null = true});
    v("macs", [](J json) { return json.of.work.macs; },
      {.meaning = "multiply-accumulates of one call; null: not known"});
    v("bytes_read", [](J json) { return json.of.work.read; }, {.meaning = "by one call"});
    v("bytes_written", [](J json) { return json.of.work.written; }, {.meaning = "by one call"});
    v("bytes", [](J json) { return json.of.work.bytes; },
      {.meaning = "compulsory traffic: each tensor once"});
    v("producers", [](J json) { return OperatorKeys(json.profile, json.of.producers); },
      {.meaning = "keys of the operators that write what it reads, as far as that is certain"});
    v("consumers", [](J json) { return OperatorKeys(json.profile, json.of.consumers); },
      {.meaning = "keys of the operators that read what it writes, likewise"});
  }
};

struct OperatorJson {
  const Profile& profile;
  const OperatorRow& of;

  const Operator& Op() const { return profile.operators[of.op]; }
  const OperatorSource* Source() const {
    return profile.program ? &profile.program->operators[of.op] : nullptr;
  }

  static constexpr const char* kSchemaName = "operator";
  static void Describe(auto& v) {
    using J = const OperatorJson&;
    v("key", [](J json) { return KeyText(json.Op().key); },
      {.meaning = "unique in the experiment: method, instruction, kind, place in the call"});
    v("name", [](J json) { return json.Op().name; }, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("type", [](J json) { return json.Op().type; }, {.meaning = "the name without its running number"});
    v("backend", [](J json) { return json.Op().backend; },
      {.meaning = "of a delegate's operator", .or_null = true});
    v("portable", [](J json) { return json.Op().portable; }, {.meaning = "a kernel that is not delegated"});
    v("category", [](J json) { return json.Op().category.name; },
      {.meaning = "what it computes, finer than `group`"});
    v("group", [](J json) { return GroupName(json.Op().category.group); }, {.meaning = "what it computes"});
    v("call",
      [](J json) { return json.Op().call_index >= 0 ? std::optional(json.Op().call_index) : std::nullopt; },
      {.meaning = "which delegate or operator call of a run it belongs to, from 0"});
    v("runs", &OperatorRow::runs, {.meaning = "of the common set, that it ran in"});
    v("total_ns", &OperatorRow::total_self,
      {.meaning = "self time over the common set", .least = kAnyNumber});
    v("mean_ms", &OperatorRow::mean_self,
      {.meaning = "total_ns over all runs of the common set: it adds up over operators",
       .scale = 1e6,
       .or_null = true});
    v("share", &OperatorRow::share, {.meaning = "of `Method::execute`", .or_null = true});
    v("self_ms", &OperatorRow::self, {.meaning = "self time of a run, over the steady runs that it ran in"});
    v("program", [](J json) { return MakeOptionalView<SourceJson>(json.Source(), json.profile); },
      {.meaning = "null: which program ran is not known"});
  }
};

struct RooflineRowJson {
  const Profile& profile;
  const RooflineRow& of;

  const Operator& Op() const { return profile.operators[of.op]; }

  static void Describe(auto& v) {
    using J = const RooflineRowJson&;
    constexpr std::string_view kTypes = "fp32|fp16|bf16|int8|other";
    v("key", [](J json) { return KeyText(json.Op().key); }, {.meaning = "of the operator"});
    v("name", [](J json) { return json.Op().name; }, {.meaning = "of the operator"});
    v("dtype", &RooflineRow::dtype, {.meaning = "that it multiplies in", .choices = kTypes});
    v("roof_dtype", &RooflineRow::roof_dtype,
      {.meaning = "of the roof that it is compared with: fp32 where the CPU computes no fp16",
       .choices = kTypes});
    v("time_ms", [](J json) { return json.of.time.ns; }, kMs.WithMeaning("self time of a run"));
    v(
        "time_low_ms", [](J json) { return json.of.time.low; },
        kMs.WithMeaning("of its 95% interval over launches; null: too few launches"));
    v(
        "time_high_ms", [](J json) { return json.of.time.high; },
        kMs.WithMeaning("of its 95% interval over launches; null: too few launches"));
    v("macs", &RooflineRow::macs, {.meaning = "multiply-accumulates of a run"});
    v("bytes", &RooflineRow::bytes, {.meaning = "compulsory traffic of a run: each tensor once"});
    v("flops_per_byte",
      [](J json) { return json.of.bytes == 0 ? std::nullopt : std::optional(json.of.intensity()); },
      {.meaning = "two for each MAC; null: no bytes", .least = 0});
    v("macs_per_s", &RooflineRow::macs_per_s, {.meaning = "over `time_ms`"});
    v("bytes_per_s", &RooflineRow::bytes_per_s, {.meaning = "over `time_ms`"});
    v("bound", &RooflineRow::bound, {.meaning = "which roof is the lower one for it"});
    v("roof_ms", &RooflineRow::roof_ns, kMs.WithMeaning("the time that it would take at that roof"));
    v("share_of_roof", &RooflineRow::share, {.meaning = "the time at the roof / the time", .least = 0});
    v("would_save_ms", &RooflineRow::gap_ns, kMs.WithMeaning("`time_ms` less `roof_ms`"));
  }
};

struct RooflineJson {
  const Profile& profile;
  const Roofline& of;

  static void Describe(auto& v) {
    using J = const RooflineJson&;
    v("roofs", &Roofline::roofs, {.meaning = "compute by data type, then memory, the innermost level first"});
    v("covered_ms", &Roofline::covered_ns, kNonNegativeMs.WithMeaning("of the rows together"));
    v("roof_ms", &Roofline::roof_ns, kNonNegativeMs.WithMeaning("of the rows together, at their roofs"));
    v("not_covered_ms", &Roofline::not_covered_ns,
      kNonNegativeMs.WithMeaning(
          "of operators without a row: what they do is not known, or no roof limits it"));
    v("rows", [](J json) { return MakeViews<RooflineRowJson>(json.of.rows, json.profile); },
      {.meaning = "operators, by falling `would_save_ms`"});
  }
};

struct MatrixKernelsJson {
  const Profile& profile;
  const MatrixKernelRow& of;

  static void Describe(auto& v) {
    using J = const MatrixKernelsJson&;
    v("kernels", &MatrixKernelRow::ran,
      {.meaning = "KleidiAI's for SME and SME2 (`sme`), KleidiAI's, XNNPACK's own, or a portable kernel"});
    v("proven", &MatrixKernelRow::proven,
      {.meaning = "the class of their code in a watched run; null: not watched", .or_null = true});
    v("contradicts", &MatrixKernelRow::contradicts,
      {.meaning = "their names say otherwise than what was seen to run"});
    v("why", &MatrixKernelRow::why,
      {.meaning = "why not KleidiAI's for SME and SME2; null: they are, or it is not known",
       .or_null = true});
    v("change", &MatrixKernelRow::change,
      {.meaning = "of the export, so that KleidiAI's run; null: none is known", .or_null = true});
    v("mean_ms", &MatrixKernelRow::mean_ns, kNonNegativeMs.WithMeaning("self time of a run, of all of them"));
    v("operators", [](J json) { return OperatorKeys(json.profile, json.of.operators); },
      {.meaning = "their keys", .some = true});
  }
};

// The time of the framework's own spans and of truncated spans: with `operators`, it adds up to the whole.
struct RestJson {
  std::string name = "framework's spans and clipped";
  Nanoseconds total = 0;

  static void Describe(auto& v) {
    v("name", &RestJson::name, {.meaning = "of this row"});
    v("total_ns", &RestJson::total,
      {.meaning = "over the common set: with that of `operators` it adds up to the whole",
       .least = kAnyNumber});
  }
};

struct ProgramJoinJson {
  const ReportExperiment& of;
  const ProgramJoin& join;

  static void Describe(auto& v) {
    using J = const ProgramJoinJson&;
    v("problem", [](J json) { return json.join.problem; },
      {.meaning = "why operators are not joined to the program", .or_null = true});
    v("no_sources", [](J json) { return json.join.no_sources; },
      {.meaning = "why layers are not known", .or_null = true});
    v("attributed_share", &ReportExperiment::attributed,
      {.meaning = "of the operators' time, overheads apart", .least = 0});
    v("layers", &ReportExperiment::layers, {.meaning = "the model's modules, parents before children"});
    v("by_layer", [](J json) { return BreakdownJson{json.of.by_layer}; },
      {.meaning = "self times by innermost module"});
    v("by_source", [](J json) { return BreakdownJson{json.of.by_source}; },
      {.meaning = "self times by line of the model"});
  }
};

// The part of an experiment that needs a trace.
struct TracedJson {
  const Report& report;
  const ExperimentData& data;
  const ReportExperiment& of;
  const Profile& profile;

  BreakdownJson Groups() const {
    BreakdownJson groups{of.groups};
    for (std::size_t i = 0; i < profile.groups.size(); ++i)
      groups.self[GroupName(kAllGroups[i])] = &profile.groups[i];
    return groups;
  }
  BreakdownJson Categories() const {
    BreakdownJson categories{of.categories};
    for (const auto& [name, distribution] : profile.categories) categories.self[name] = &distribution;
    return categories;
  }
  RestJson Rest() const {
    RestJson rest;
    rest.total = of.groups.total;
    for (const OperatorRow& row : of.operators) rest.total -= row.total_self;
    return rest;
  }
  std::string OwnMethod() const {
    return profile.operators.empty() ? "" : profile.operators.front().key.method;
  }
  // Keeps the rows of the experiment's own method: the files of a program with several methods contain the
  // rows of all of them.
  template <typename Row>
  std::vector<Row> FilterOwnMethod(std::vector<Row> rows) const {
    std::erase_if(rows, [&](const Row& row) { return !row.key.starts_with(OwnMethod() + "/"); });
    return rows;
  }
  std::vector<WatchedRow> Watched() const {
    if (data.watch == nullptr || data.watch->method != OwnMethod()) return {};
    const std::span<const WatchedRow> rows = FindWatchedRows(report.watched, data);
    return {rows.begin(), rows.end()};
  }
  std::optional<protocol::MemoryReport> Memory() const {
    const WatchedExperiment* const watched = FindWatched(report.watched, data);
    return watched == nullptr ? std::nullopt : watched->memory;
  }

  static void Describe(auto& v) {
    using J = const TracedJson&;
    v("mean_execute_ms", &ReportExperiment::MeanExecute,
      kMs.WithMeaning("`Method::execute` over the common set"));
    v("tracer_ms", &ReportExperiment::tracer,
      kMs.WithMeaning("from mean_execute_ms to the median of latency_ms: mostly minus the cost of tracing"));
    v("groups", &TracedJson::Groups, {.meaning = "self times by kind of computation"});
    v("categories", &TracedJson::Categories, {.meaning = "self times by finer kind of computation"});
    v("places", [](J json) { return BreakdownJson{json.of.places}; },
      {.meaning = "self times by where it ran: delegated, portable, overhead"});
    v("by_delegate", [](J json) { return BreakdownJson{json.of.by_delegate}; },
      {.meaning = "self times by delegate call"});
    v("program", [](J json) { return MakeOptionalView<ProgramJoinJson>(json.profile.program, json.of); },
      {.meaning = "operators joined to the .pte; null: which program ran is not known"});
    v("roofline", [](J json) { return MakeOptionalView<RooflineJson>(json.of.roofline, json.profile); },
      {.meaning = "null: the machine's roofs or the work of the operators are not known"});
    v("operators", [](J json) { return MakeViews<OperatorJson>(json.of.operators, json.profile); },
      {.meaning = "by falling time"});
    v("operators_rest", &TracedJson::Rest, {.meaning = "what `operators` lacks"});
    v("delegate_calls", &ReportExperiment::delegate_calls, {.meaning = "in one inference"});
    v("portable_kernels", &ReportExperiment::portable_kernels, {.meaning = "in one inference"});
    v("unknown_operators", &ReportExperiment::unknown_operators,
      {.meaning = "types that the table of categories does not know"});
    v("kernel_evidence", &ReportExperiment::kernel_evidence,
      {.meaning =
           "operator types on KleidiAI's kernels for SME: by their packed data types, which only those "
           "have, or as --watch saw"});
    v("matrix_kernels",
      [](J json) { return MakeViews<MatrixKernelsJson>(json.of.matrix_kernels, json.profile); },
      {.meaning = "operators that multiply matrices, by the microkernels that they ran; empty where the CPU "
                  "is no Arm one"});
    v("counters", [](J json) { return json.FilterOwnMethod(json.data.counters); },
      {.meaning = "of the method, its delegate calls and operators (docs/guides/bottlenecks.md); empty: none "
                  "were read"});
    v("instructions", [](J json) { return json.FilterOwnMethod(json.data.instructions); },
      {.meaning = "of the method and its operators, counted (docs/guides/instructions.md)",
       .omit_if_empty = true});
    v("watched", &TracedJson::Watched,
      {.meaning =
           "operators by the functions that computed them, and their threads (docs/concepts/kernels.md); "
           "empty: they were not watched"});
    v("memory", &TracedJson::Memory,
      {.meaning = "of a watched run, by owner (docs/concepts/kernels.md)", .omit_if_empty = true});
    v("delegate_values", [](J json) -> const auto& { return json.profile.reported; },
      {.meaning = "what delegates report that is not host time: part of no other number",
       .omit_if_empty = true});
    v("delegate_metadata", [](J json) -> const auto& { return json.profile.metadata; },
      {.meaning = "what delegates add to their events", .omit_if_empty = true});
    v("health", [](J json) -> const auto& { return json.profile.health.entries(); },
      {.meaning = "what is odd in the ETDump"});
  }
};

struct ExperimentJson {
  const Report& report;
  const ReportExperiment& of;

  const ExperimentData& Data() const { return report.run.experiments[of.index]; }

  static constexpr const char* kSchemaName = "experiment";
  static void Describe(auto& v) {
    using R = ReportExperiment;
    using J = const ExperimentJson&;
    v("name", [](J json) { return json.Data().name; }, {.meaning = "its name in the configuration"});
    v("label", &R::label, {.meaning = "its name in reports"});
    v("threads", &R::threads, {.meaning = "of the runner's thread pool", .least = 1});
    v("mode", [](J json) { return json.Data().mode; },
      {.meaning = "`xnntrace`: a kernel-log run", .choices = kModes});
    v("isa", [](J json) { return json.Data().isa; },
      {.meaning = "the mask of CPU features; null: nothing is masked", .or_null = true});
    v("emulated", [](J json) { return json.Data().emulated; },
      {.meaning = "the CPU was emulated: times are not meaningful"});
    v("trace_enabled", [](J json) { return json.Data().trace_enabled; },
      {.meaning = "a kernel-log run: its times are never compared"});
    v("etdump", &R::etdump_name, {.meaning = "file name; null: none", .or_null = true});
    v("latency_from", &R::LatencySource, kLatencySource);
    v("tracer_always_on", &R::tracer_always_on,
      {.meaning = "untraced runs were not to be had: latencies include tracing"});
    const auto if_paced = [](J json, auto value) {
      return json.of.period > 0 ? std::optional(value) : std::nullopt;
    };
    v("period_ms", [if_paced](J json) { return if_paced(json, json.of.period); },
      {.meaning = "runs were started so far apart; null: back to back", .least = 0, .scale = 1e6});
    v("late_runs", [if_paced](J json) { return if_paced(json, json.of.late_runs); },
      {.meaning = "runs that took longer than the period, of all_runs"});
    v("latency_ms", &R::latency, {.meaning = "of the headline's runs: see `clean_runs` and `latency_from`"});
    v("run_classes", &R::run_classes,
      {.meaning =
           "what the traced runs fall into that do different work, by operators or by time; where there "
           "are any, latency_ms has only `n`"});
    v("clean_runs", &R::clean_runs,
      {.meaning = "untraced runs whose threads had a processor whenever they wanted one: latency_ms is of "
                  "these, or of all where there is none"});
    v("all_runs", [](J json) { return json.of.latency_of_all.n; },
      {.meaning = "untraced runs, clean or not"});
    v("latency_of_all_ms", &R::latency_of_all,
      {.meaning = "of all untraced runs, clean or not: what a user of this device sees"});
    v("cpu_time_ms", &R::cpu_time,
      {.meaning = "processor time of all threads: median over the clean runs", .least = 0, .scale = 1e6});
    v("cpu_of_busiest_thread_ms", &R::cpu_of_busiest,
      {.meaning = "of a run, on average", .least = 0, .scale = 1e6});
    v("traced_ms", &R::traced, {.meaning = "`Method::execute` of the traced steady runs"});
    v.Object("latency_histogram",
             [](auto& in) {
               const auto edge = [](double stats::Histogram::*which) {
                 return [which](J json) {
                   const stats::Histogram& histogram = json.of.latency_histogram;
                   return histogram.counts.empty() ? std::nullopt : std::optional(histogram.*which);
                 };
               };
               in("from_ms", edge(&stats::Histogram::from), kMs.WithMeaning("where the first bin begins"));
               in("width_ms", edge(&stats::Histogram::width),
                  kNonNegativeMs.WithMeaning("of a bin; 0: all times on the axis are equal"));
               in("counts", [](J json) { return json.of.latency_histogram.counts; },
                  {.meaning = "runs, bin by bin"});
               in("beyond", [](J json) { return json.of.latency_histogram.beyond; },
                  {.meaning = "runs that took longer than the axis goes"});
             },
             {.meaning = "of the headline's runs, for a chart"});
    v.Object("latency_ecdf",
             [](auto& in) {
               in(
                   "ms", [](J json) { return MapEach(json.of.latency_ecdf, &stats::EcdfPoint::value); },
                   kMs.WithMeaning("latency, rising"));
               in("share", [](J json) { return MapEach(json.of.latency_ecdf, &stats::EcdfPoint::share); },
                  {.meaning = "of runs that took no longer", .least = 0});
             },
             {.meaning = "cumulative distribution of the headline's runs, in columns"});
    v("first_run_ms", &R::first_run,
      kNonNegativeMs.WithMeaning(
          "of a process, median over launches; from the trace where it was not measured"));
    v("load_ms", &R::load,
      kNonNegativeMs.WithMeaning(
          "program and method, median over launches; from the trace where it was not measured"));
    v("peak_rss_bytes", &R::peak_rss, {.meaning = "the largest resident memory of any launch"});
    v("launches", &R::launches, {.meaning = "complete or partial ones; 0: not known"});
    v("bursts", [](J json) { return json.of.bursts.size(); }, {.meaning = "that have a median"});
    v("disturbed_bursts", &R::disturbed_bursts, {.meaning = "of `bursts`; they are included"});
    v.Object("burst_medians",
             [](auto& in) {
               const auto column = [](auto member) {
                 return [member](J json) { return MapEach(json.of.bursts, member); };
               };
               in("launch", column(&BurstPoint::launch), {.meaning = "from 0"});
               in("round", column(&BurstPoint::round), {.meaning = "of the launch, from 0"});
               in("seconds", column(&BurstPoint::seconds),
                  {.meaning = "from the start of the run's first burst to its own"});
               in("median_ms", column(&BurstPoint::median),
                  kNonNegativeMs.WithMeaning("of the clean runs, or of all where none is clean"));
               in("disturbed", column(&BurstPoint::disturbed),
                  {.meaning = "far from the experiment's other bursts, never stable, or without clean runs"});
               in("throttled", column(&BurstPoint::throttled),
                  {.meaning = "the device was hot, or a clock below the hardware's"});
               in("frequency_mhz", column(&BurstPoint::mhz),
                  {.meaning = "after the burst, of the CPU that the main thread was on", .least = 0});
               in("temperature_c", column(&BurstPoint::celsius),
                  {.meaning =
                       "degrees Celsius after the burst; where the runner could not tell, before the round"});
             },
             {.meaning = "in columns: entry i of each is burst i"});
    v("conditions", [](J json) { return say::ExperimentFacts(json.report, json.of).facts; },
      {.meaning = "how it was set up, in words"});
    v("latency_interval_ms", &R::interval, {.meaning = "of the median, over launches (at least 2)"});
    v("sustained", &R::sustained, {.meaning = "of a run with --sustained"});
    v.Object("runs",
             [](auto& in) {
               in("traced", &R::traced_runs, {.meaning = "all of them"});
               in("first", &R::first_runs, {.meaning = "the first one of a process"});
               in("warmup", &R::warmup_runs, {.meaning = "before the latency was stable"});
               in("steady", &R::steady_runs, {.meaning = "clean ones after that"});
               in("disturbed", &R::disturbed_runs, {.meaning = "steady, but not clean: left out"});
               in("common_set", &R::common_runs, {.meaning = "that tables which add up are made of"});
             },
             {.meaning = "of the ETDump, by what they are"});
    v.Flat([](J json) {
      return MakeOptionalView<TracedJson>(json.of.profile, json.report, json.Data(), json.of);
    });
  }
};

}  // namespace etprof
