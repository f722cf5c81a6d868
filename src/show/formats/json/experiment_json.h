#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/views.h"
#include "measure/config/config_keys.h"
#include "report/kernels/watched.h"
#include "report/report.h"
#include "show/subjects/run/report.h"

// JSON views of an entry of "experiments" in analysis_summary.json.
namespace etprof {

struct ProgramJoinJson {
  const ProgramJoin& source;

  static void Describe(auto& v) {
    v("problem", &ProgramJoin::problem,
      {.meaning = "why operators are not joined to the program", .or_null = true});
    v("no_sources", &ProgramJoin::no_sources_reason,
      {.meaning = "why layers are not known", .or_null = true});
    v("attributed_share", &ReportExperiment::attributed_share,
      {.meaning = "of the operators' time, overheads apart", .min = 0});
    v("layers", &ReportExperiment::layers, {.meaning = "the model's modules, parents before children"});
    v("by_layer", &ReportExperiment::by_layer, {.meaning = "self times by innermost module"});
    v("by_source", &ReportExperiment::by_source, {.meaning = "self times by line of the model"});
  }
};

// The part of an experiment that needs a trace.
struct TracedJson {
  const Profile& source;

  // Keeps the rows of the experiment's method: the files of a program with several methods contain the rows
  // of all of them.
  template <typename Row>
  std::vector<Row> SelectMethodRows(std::vector<Row> rows) const {
    const std::string prefix = source.MethodName() + "/";
    std::erase_if(rows, [&](const Row& row) { return !row.key.starts_with(prefix); });
    return rows;
  }

  static void Describe(auto& v) {
    using J = const TracedJson&;
    using R = const Report&;
    using E = const ReportExperiment&;
    v("mean_execute_ms", &ReportExperiment::MeanExecute,
      kMs.WithMeaning("`Method::execute` over the common set"));
    v("tracer_ms", &ReportExperiment::tracer,
      kMs.WithMeaning("from mean_execute_ms to the median of latency_ms: mostly minus the cost of tracing"));
    v("groups", &ReportExperiment::groups, {.meaning = "self times by kind of computation"});
    v("categories", &ReportExperiment::categories, {.meaning = "self times by finer kind of computation"});
    v("places", &ReportExperiment::places,
      {.meaning = "self times by where it ran: delegated, portable, overhead"});
    v("by_delegate", &ReportExperiment::by_delegate, {.meaning = "self times by delegate call"});
    v("program", [](J json) { return MakeOptionalView<ProgramJoinJson>(json.source.program); },
      {.meaning = "operators joined to the .pte; null: which program ran is not known"});
    v("roofline", &ReportExperiment::roofline,
      {.meaning = "null: the machine's roofs or the work of the operators are not known"});
    v("operators", &ReportExperiment::operators, {.meaning = "by falling time"});
    v.Object("operators_rest",
             [](auto& object) {
               object("name", [](J) { return "framework's spans and clipped"; }, {.meaning = "of this row"});
               object("total_ns", &ReportExperiment::NonOperatorTotal,
                      {.meaning = "over the common set: with that of `operators` it adds up to the whole",
                       .min = kNoMinimum});
             },
             {.meaning = "what `operators` lacks"});
    v("delegate_calls", &ReportExperiment::delegate_calls, {.meaning = "in one inference"});
    v("portable_kernels", &ReportExperiment::portable_kernels, {.meaning = "in one inference"});
    v("unknown_operators", &ReportExperiment::unknown_operators,
      {.meaning = "types that the table of categories does not know"});
    v("kernel_evidence", &ReportExperiment::kernel_evidence,
      {.meaning =
           "operator types on KleidiAI's kernels for SME: by their packed data types, which only those "
           "have, or as --watch saw"});
    v("matrix_kernels", &ReportExperiment::matrix_kernels,
      {.meaning = "operators that multiply matrices, by the microkernels that they ran; empty where the CPU "
                  "is no Arm one"});
    v("counters",
      [](J json, E experiment, R report) { return json.SelectMethodRows(experiment.Data(report).counters); },
      {.meaning = "of the method, its delegate calls and operators (docs/guides/bottlenecks.md); empty: none "
                  "were read"});
    v("instructions",
      [](J json, E experiment, R report) {
        return json.SelectMethodRows(experiment.Data(report).instructions);
      },
      {.meaning = "of the method and its operators, counted (docs/guides/instructions.md)",
       .omit_if_empty = true});
    v("watched",
      [](J json, E experiment, R report) {
        const ExperimentData& data = experiment.Data(report);
        const bool has_method = data.watch != nullptr && data.watch->method == json.source.MethodName();
        const auto rows = has_method ? FindWatchedRows(report.watched, data) : std::span<const WatchedRow>();
        return std::vector<WatchedRow>(rows.begin(), rows.end());
      },
      {.meaning =
           "operators by the functions that computed them, and their threads (docs/concepts/kernels.md); "
           "empty: they were not watched"});
    v("memory",
      [](J, E experiment, R report) {
        const WatchedExperiment* const watched = FindWatched(report.watched, experiment.Data(report));
        return watched == nullptr ? std::nullopt : watched->memory;
      },
      {.meaning = "of a watched run, by owner (docs/concepts/kernels.md)", .omit_if_empty = true});
    v("delegate_values", &Profile::reported,
      {.meaning = "what delegates report that is not host time: part of no other number",
       .omit_if_empty = true});
    v("delegate_metadata", &Profile::metadata,
      {.meaning = "what delegates add to their events", .omit_if_empty = true});
    v("health", [](J json) -> const auto& { return json.source.health.entries(); },
      {.meaning = "what is odd in the ETDump"});
  }
};

struct ExperimentJson {
  const ReportExperiment& source;

  static constexpr const char* kSchemaName = "experiment";
  static void Describe(auto& v) {
    using R = ReportExperiment;
    using J = const ExperimentJson&;
    const auto data = [](auto member) {
      return
          [member](J json, const Report& report) -> const auto& { return json.source.Data(report).*member; };
    };
    using D = ExperimentData;
    v("name", data(&D::name), {.meaning = "its name in the configuration"});
    v("label", &R::label, {.meaning = "its name in reports"});
    v("threads", &R::threads, {.meaning = "of the runner's thread pool; null: not known", .min = 1});
    v("mode", data(&D::mode), {.meaning = "`xnntrace`: a kernel-log run", .choices = kModes});
    v("isa", data(&D::isa),
      {.meaning = "the mask of CPU features; null: nothing is masked", .or_null = true});
    v("emulated", data(&D::emulated), {.meaning = "the CPU was emulated: times are not meaningful"});
    v("trace_enabled", data(&D::trace_enabled),
      {.meaning = "a kernel-log run: its times are never compared"});
    v("etdump", &R::etdump_name, {.meaning = "file name; null: none", .or_null = true});
    v("latency_from", &R::LatencySource, kLatencySource);
    v("tracer_always_on", &R::tracer_always_on,
      {.meaning = "untraced runs were not to be had: latencies include tracing"});
    const auto if_paced = [](J json, auto value) {
      return json.source.period > 0 ? std::optional(value) : std::nullopt;
    };
    v("period_ms", [if_paced](J json) { return if_paced(json, json.source.period); },
      {.meaning = "runs were started so far apart; null: back to back", .min = 0, .scale = 1e6});
    v("late_runs", [if_paced](J json) { return if_paced(json, json.source.late_runs); },
      {.meaning = "runs that took longer than the period, of all_runs"});
    v("latency_ms", &R::latency, {.meaning = "of the headline's runs: see `clean_runs` and `latency_from`"});
    v("run_classes", &R::run_classes,
      {.meaning =
           "what the traced runs fall into that do different work, by operators or by time; where there "
           "are any, latency_ms has only `n`"});
    v("clean_runs", &R::clean_runs,
      {.meaning = "untraced runs whose threads had a processor whenever they wanted one: latency_ms is of "
                  "these, or of all where there is none"});
    v("all_runs", [](J json) { return json.source.latency_of_all.n; },
      {.meaning = "untraced runs, clean or not"});
    v("latency_of_all_ms", &R::latency_of_all,
      {.meaning = "of all untraced runs, clean or not: what a user of this device sees"});
    v("cpu_time_ms", &R::cpu_time,
      {.meaning = "processor time of all threads: median over the clean runs", .min = 0, .scale = 1e6});
    v("cpu_of_busiest_thread_ms", &R::cpu_of_busiest,
      {.meaning = "of a run, on average", .min = 0, .scale = 1e6});
    v("traced_ms", &R::traced, {.meaning = "`Method::execute` of the traced steady runs"});
    v.Object("latency_histogram",
             [](auto& object) {
               const auto edge = [](double stats::Histogram::*member) {
                 return [member](J json) {
                   const stats::Histogram& histogram = json.source.latency_histogram;
                   return histogram.counts.empty() ? std::nullopt : std::optional(histogram.*member);
                 };
               };
               object("from_ms", edge(&stats::Histogram::from),
                      kMs.WithMeaning("where the first bin begins"));
               object("width_ms", edge(&stats::Histogram::width),
                      kNonNegativeMs.WithMeaning("of a bin; 0: all times on the axis are equal"));
               object("counts", [](J json) { return json.source.latency_histogram.counts; },
                      {.meaning = "runs, bin by bin"});
               object("beyond", [](J json) { return json.source.latency_histogram.above_axis; },
                      {.meaning = "runs that took longer than the axis goes"});
             },
             {.meaning = "of the headline's runs, for a chart"});
    v.Object(
        "latency_ecdf",
        [](auto& object) {
          object("ms", [](J json) { return MapEach(json.source.latency_ecdf, &stats::EcdfPoint::value); },
                 {.meaning = "latency, rising", .scale = 1e6});
          object("share", [](J json) { return MapEach(json.source.latency_ecdf, &stats::EcdfPoint::share); },
                 {.meaning = "of runs that took no longer", .min = 0});
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
    v("bursts", [](J json) { return json.source.bursts.size(); }, {.meaning = "that have a median"});
    v("disturbed_bursts", &R::disturbed_bursts, {.meaning = "of `bursts`; they are included"});
    v.Object(
        "burst_medians",
        [](auto& object) {
          const auto column = [](auto member) {
            return [member](J json) { return MapEach(json.source.bursts, member); };
          };
          object("launch", column(&BurstPoint::launch), {.meaning = "from 0"});
          object("round", column(&BurstPoint::round), {.meaning = "of the launch, from 0"});
          object("seconds", column(&BurstPoint::seconds),
                 {.meaning = "from the start of the run's first burst to its own"});
          object("median_ms", column(&BurstPoint::median),
                 kNonNegativeMs.WithMeaning("of the clean runs, or of all where none is clean"));
          object("disturbed", column(&BurstPoint::disturbed),
                 {.meaning = "far from the experiment's other bursts, never stable, or without clean runs"});
          object("throttled", column(&BurstPoint::hot_or_capped),
                 {.meaning = "the device was hot, or a clock below the hardware's"});
          object("frequency_mhz", column(&BurstPoint::mhz),
                 {.meaning = "after the burst, of the CPU that the main thread was on", .min = 0});
          object("temperature_c", column(&BurstPoint::celsius),
                 {.meaning =
                      "degrees Celsius after the burst; where the runner could not tell, before the round"});
        },
        {.meaning = "in columns: entry i of each is burst i"});
    v("conditions",
      [](J json, const Report& report) { return show::ExperimentFacts(report, json.source).facts; },
      {.meaning = "how it was set up, in words"});
    v("latency_interval_ms", &R::interval, {.meaning = "of the median, over launches (at least 2)"});
    v("sustained", &R::sustained, {.meaning = "of a run with --sustained"});
    v.Object("runs",
             [](auto& object) {
               object("traced", &R::traced_runs, {.meaning = "all of them"});
               object("first", &R::first_runs, {.meaning = "the first one of a process"});
               object("warmup", &R::warmup_runs, {.meaning = "before the latency was stable"});
               object("steady", &R::steady_runs, {.meaning = "clean ones after that"});
               object("disturbed", &R::disturbed_runs, {.meaning = "steady, but not clean: left out"});
               object("common_set", &R::common_runs, {.meaning = "that tables which add up are made of"});
             },
             {.meaning = "of the ETDump, by what they are"});
    v.Flat([](J json) { return MakeOptionalView<TracedJson>(json.source.profile); });
  }
};

}  // namespace etprof
