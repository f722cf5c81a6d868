#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "device/conditions/other_load.h"
#include "device/conditions/power_mode.h"
#include "device/conditions/vitals.h"
#include "device/properties.h"
#include "measure/instructions/instructions.h"
#include "measure/store/counters.h"
#include "measure/store/peaks.h"
#include "measure/values/values.h"
#include "profile/analysis/profile.h"
#include "profile/compare/comparison.h"
#include "protocol/messages.h"

// The contents of a results directory in memory (docs/reference/files.md describes the files). A measurement
// fills RunData while it runs, RunDirectory writes it, LoadRunDirectory reads it, and the report is made from
// it.

namespace etprof {

inline constexpr int kManifestSchema = 1;

struct WatchData;  // defined in measure/store/watch.h

// Consecutive runs of one launch. The recorded runs are untraced unless ExperimentData::tracer_always_on is
// set.
struct Burst : protocol::BurstRuns, protocol::BurstConditions {
  int round = 0;
  int order = 0;

  // A run is clean if IsCleanRun (clean_runs.h) accepts it.
  bool IsClean(std::size_t run) const;              // run is an index into `recorded`
  bool IsCleanTraced(std::size_t run) const;        // run is an index into `traced`
  std::vector<Nanoseconds> CleanLatencies() const;  // the clean runs of `recorded`
  std::optional<Nanoseconds> Median() const;        // median of CleanLatencies(); absent: no clean runs
  std::optional<Nanoseconds> MedianOfAll() const;   // median of `recorded`; absent: no runs

  static constexpr const char* kSchemaName = "burst";
  static void Describe(auto& v) {
    v("round", &Burst::round, {.meaning = "of its launch, from 0; -1: before the first round", .min = -1});
    v("order", &Burst::order, {.meaning = "its place among the bursts of the round, from 0"});
    v("level", &Burst::stabilized,
      {.meaning = "false: the opening runs ended before the latency stabilized"});
    v("opening_runs", [](const Burst& burst) { return burst.opening.size(); },
      {.meaning = "runs before the recorded ones, until the latency was stable"});
    v("recorded_runs", [](const Burst& burst) { return burst.recorded.size(); },
      {.meaning = "untraced runs, whose times are the latencies"});
    v("clean_runs", [](const Burst& burst) { return burst.CleanLatencies().size(); },
      {.meaning = "of the recorded runs, those whose threads had a processor whenever they wanted one"});
    v("traced_runs", [](const Burst& burst) { return burst.traced.size(); },
      {.meaning = "runs with the tracer on"});
    v("runs_per_reading", &Burst::runs_per_reading,
      {.meaning = "so many consecutive recorded runs share one reading of waiting", .min = 1});
    v("median_ns", [](const Burst& burst) { return burst.Median(); }, {.meaning = "of the clean runs"});
    protocol::BurstConditions::Describe(v);
  }
};

// Consecutive runs of the same launch, round, and phase, as the manifest stores them.
struct PhaseRuns {
  int launch = 0, round = 0;
  Phase phase = Phase::kSteady;
  std::int64_t runs = 0;

  static constexpr const char* kSchemaName = "runs";
  static void Describe(auto& v) {
    v("launch", &PhaseRuns::launch, {.meaning = "which process, from 0"});
    v("round", &PhaseRuns::round, {.meaning = "-1: before the first round", .min = -1});
    v("phase", &PhaseRuns::phase,
      {.meaning = "of the process's life; `disturbed`: steady, but threads had to wait for a processor"});
    v("runs", &PhaseRuns::runs, {.meaning = "how many follow each other", .min = 1});
  }
};
std::vector<PhaseRuns> GroupRuns(const std::vector<RunLabel>& runs);
// Throws std::invalid_argument for more than 10 million runs.
std::vector<RunLabel> ExpandRuns(const std::vector<PhaseRuns>& groups);
inline constexpr std::string_view kRunsMeaning =
    "runs of the ETDump in its order, equal neighbors counted together";

// One worker process of an experiment.
struct Launch {
  enum class Status {
    kComplete,
    kPartial,  // stopped before its end (Ctrl-C, time limit); its results are valid
    kFailed,   // the worker died, hung, or sent an invalid answer; `problem` says which
  };
  // Counted from 0. Launches of several experiments that were interleaved have the same index, so an
  // experiment that missed a launch has a gap.
  int index = 0;
  Status status = Status::kComplete;
  std::string problem;

  std::optional<protocol::Clocks> clocks;  // the device's clocks when the launch began; absent: not known
  std::optional<Nanoseconds> load;
  std::optional<Nanoseconds> first_run;
  std::optional<Nanoseconds> load_wait, first_run_wait;  // waiting times as in BurstRuns; absent: not known
  std::vector<Nanoseconds> warmup;  // unrecorded runs after the first and before the first round
  std::optional<Bytes> rss_before_load, rss_after_load, peak_rss;
  std::vector<Burst> bursts;                                  // ordered by round
  std::optional<protocol::GenerateTextReply> generated_text;  // text that the process generated at its end
  // A prompt and its first token, right after loading.
  std::optional<protocol::GenerateTextReply> cold_generated_text;

  // The traced runs in the order of `etdump_part`.
  std::vector<RunLabel> traced_runs;
  // The launch's ETDump, relative to the results directory; empty: merged into the experiment's ETDump, or
  // none.
  std::string etdump_part;

  // Absent: not measured, or the process had to wait for a CPU meanwhile.
  std::optional<Nanoseconds> CleanLoad() const;
  std::optional<Nanoseconds> CleanFirstRun() const;
  // The median of the clean runs of each round in ns. Rounds without clean runs are omitted.
  std::map<int, double> CleanRounds() const;
  std::optional<double> CleanLatency() const;  // median of CleanRounds() in ns; absent: no clean runs
  std::optional<Bytes> PeakSinceLoad() const;  // peak_rss less rss_before_load; absent: not known

  static constexpr const char* kSchemaName = "launch";
  static void Describe(auto& v) {
    v("index", &Launch::index,
      {.meaning = "from 0, the same for all experiments of one turn; gaps: the experiment missed some"});
    v.Converted(
        "status", [](const auto& launch) { return std::string(GetName(launch.status)); },
        [](Launch& launch, const std::string& read) { launch.SetStatus(read); },
        {.meaning = "`partial`: stopped in the middle, what is here is sound; `failed`: `problem` says why",
         .choices = "complete|partial|failed"});
    v("problem", &Launch::problem, {.meaning = "why it failed", .omit_if_empty = true});
    v("clocks", &Launch::clocks, {.meaning = "the device's clocks at one moment of its start"});
    v("load_ns", &Launch::load, {.meaning = "loading program and method"});
    v("load_wait_ns", &Launch::load_wait, {.meaning = "of load_ns: wanted a processor and had none"});
    v("first_run_ns", &Launch::first_run,
      {.meaning = "of the process; it packs weights and meets page faults"});
    v("first_run_wait_ns", &Launch::first_run_wait,
      {.meaning = "of first_run_ns: wanted a processor and had none"});
    v("warmup_runs", [](const Launch& launch) { return launch.warmup.size(); },
      {.meaning = "unrecorded runs after the first one and before the first round"});
    v("rss_before_load_bytes", &Launch::rss_before_load,
      {.meaning = "resident memory of the process before loading: above all ExecuTorch's libraries",
       .omit_if_empty = true});
    v("rss_after_load_bytes", &Launch::rss_after_load,
      {.meaning = "resident memory of the process after loading"});
    v("peak_rss_bytes", &Launch::peak_rss, {.meaning = "largest resident memory of the process"});
    v.Converted(
        "etdump_part", [](const Launch& launch) { return launch.etdump_part; },
        [](Launch& launch, const std::string& part) { launch.SetEtdumpPart(part); },
        {.meaning = "only while its ETDump is not merged",
         .omit_if_empty = true,
         .present_with = "traced_runs"});
    v.Converted(
        "traced_runs",
        [](const Launch& launch) {
          return launch.etdump_part.empty() ? std::nullopt : std::optional(GroupRuns(launch.traced_runs));
        },
        [](Launch& launch, const std::optional<std::vector<PhaseRuns>>& groups) {
          if (groups) launch.traced_runs = ExpandRuns(*groups);
        },
        {.meaning = kRunsMeaning, .omit_if_empty = true, .present_with = "etdump_part"});
    v("bursts", &Launch::bursts, {.meaning = "by round"});
    v("walk", &Launch::generated_text,
      {.meaning = "the text that it generated at its end", .omit_if_empty = true});
    v("cold_walk", &Launch::cold_generated_text,
      {.meaning = "a prompt and its first token, right after loading", .omit_if_empty = true});
  }
  void SetStatus(const std::string& name);  // an unknown name means kFailed
  // Throws std::invalid_argument for a path that leads out of the results directory, since etprof writes and
  // removes its parts.
  void SetEtdumpPart(const std::string& part);
};
template <>
inline constexpr const char* kNames<Launch::Status>[] = {"complete", "partial", "failed"};

// The state of the device before the bursts of a round, which workers cannot read. If whole processes
// alternate, the state is read before each process.
struct RoundConditions {
  int launch = 0, round = 0;  // Launch::index, Burst::round
  int order = 0;              // Burst::order of the first burst that followed
  DeviceVitals vitals;
  double waited_seconds = 0;  // time that etprof waited for the device to cool
  bool capped = false;        // the frequency limit of a CPU in use was below the hardware's maximum
  bool hot = false;           // above max_temp, or Android's thermal status reports throttling

  static constexpr const char* kSchemaName = "conditions";
  static void Describe(auto& v) {
    v("launch", &RoundConditions::launch, {.meaning = "that the round is of"});
    v("round", &RoundConditions::round, {.meaning = "from 0"});
    v("order", &RoundConditions::order, {.meaning = "of the first burst that followed"});
    v("capped", &RoundConditions::capped,
      {.meaning = "a clock of a CPU that is used was below the hardware's"});
    v("hot", &RoundConditions::hot, {.meaning = "above max_temp, or Android says that it slows down"});
    v("waited_seconds", &RoundConditions::waited_seconds, {.meaning = "for the device to cool", .min = 0});
    v.Flat(&RoundConditions::vitals);
  }
};

// The version without the local build label ("1.5.1+cpu"), which version.txt of a checkout does not have.
inline std::string_view PublicVersion(std::string_view version) {
  return version.substr(0, version.find('+'));
}

struct ExperimentData;

// Statistics of the clean recorded latencies; absent: no clean runs.
struct LatencyMetrics {
  std::optional<double> mean_ms, median_ms, min_ms, max_ms;
  std::size_t runs = 0, all_runs = 0;

  explicit LatencyMetrics(const ExperimentData& data);
  static void Describe(auto& v) {
    v("latency_ms", &LatencyMetrics::mean_ms, {.meaning = "mean of the clean recorded latencies", .min = 0});
    v("median_ms", &LatencyMetrics::median_ms, {.meaning = "of the clean recorded latencies", .min = 0});
    v("min_ms", &LatencyMetrics::min_ms, {.meaning = "of the clean recorded latencies", .min = 0});
    v("max_ms", &LatencyMetrics::max_ms, {.meaning = "of the clean recorded latencies", .min = 0});
    v("runs", &LatencyMetrics::runs, {.meaning = "clean recorded runs, of which the times are"});
    v("all_runs", &LatencyMetrics::all_runs, {.meaning = "recorded runs, clean or not"});
  }
};

// The build of a runner, according to its binary and to etprof-build.json, which `etprof build
// --executorch` writes next to an executor_runner.
struct RunnerBuildInfo {
  std::string preset;       // preset of `etprof build --executorch`; empty: not known
  std::string compiler;     // compiler of the portable and optimized kernels, "GCC 13.3.1"; empty: not known
  std::optional<bool> sme;  // whether the code has SME instructions; absent: not a program for aarch64
  bool operator==(const RunnerBuildInfo&) const = default;

  static constexpr const char* kSchemaName = "runner_built";
  static void Describe(auto& v) {
    v("preset", &RunnerBuildInfo::preset, {.meaning = "of etprof build --executorch", .or_null = true});
    v("compiler", &RunnerBuildInfo::compiler,
      {.meaning = "of its portable and optimized kernels", .or_null = true});
    v("sme", &RunnerBuildInfo::sme,
      {.meaning = "its code has instructions of SME; null: it is no program for aarch64"});
  }
};

// The difference between the outputs of two experiments, or between actual and expected outputs
// (store/outputs.h).
struct OutputDifference {
  bool comparable = false;
  bool equal = false;
  std::optional<double> largest_absolute, largest_relative;  // absent: equal, or the values were not kept
  std::string note;                                          // a clause for messages

  static constexpr const char* kSchemaName = "difference";
  static void Describe(auto& v) {
    v("comparable", &OutputDifference::comparable,
      {.meaning = "number, data types, and shapes are the same"});
    v("equal", &OutputDifference::equal, {.meaning = "bit for bit"});
    v("largest_absolute", &OutputDifference::largest_absolute,
      {.meaning = "difference of two elements; null: equal, or not known"});
    v("largest_relative", &OutputDifference::largest_relative,
      {.meaning = "difference of two elements over the larger magnitude; null: equal, or not known"});
    v("note", &OutputDifference::note, {.meaning = "the same in words"});
  }
};

// The results of one experiment with one number of threads.
struct ExperimentData {
  std::string name;
  int threads = 1;    // 0: not known, as for a bare ETDump
  std::string label;  // name in reports: "sme2 off"; default: `name`, with the threads if they differ
  std::string mode = "timing";  // or "xnntrace"

  std::filesystem::path runner;
  std::string runner_sha256;
  std::optional<RunnerBuildInfo> runner_built;  // absent: nothing is known
  std::string configuration_sha256;  // hash of the configuration without name and label; empty: not known
  bool third_party_runner = false;   // such as executor_runner, run as whole processes
  bool emulated = false;             // exec_wrapper is an emulator, so timings are not meaningful
  bool trace_enabled = false;        // a kernel-log run, whose times are never compared
  bool tracer_always_on = false;     // recorded latencies include tracing, as those of third-party runners do
  std::vector<std::string> command_line;
  std::filesystem::path model;
  std::string model_sha256;
  std::string executorch_version;  // version of the libraries that the runner mapped; empty: not known
  std::vector<protocol::MappedLibrary> executorch_libraries;  // mapped by the runner; empty: not known
  std::string export_executorch_version;  // version in the .json next to the .pte; empty: not known
  // protocol::kExactClock or kXnnpackClock; empty: not known, as for third-party runners.
  std::string operator_clock;
  std::string
      wait_source;  // protocol::kSchedstat, kThreadTime or kOutsideProcess; empty: waiting is not known
  std::string isa;  // the mask as configured: "-sme,-sme2"
  std::optional<protocol::IsaState> isa_state;  // absent for third-party runners
  std::string cpus;                             // as configured: "0-1", "0x80"; empty: any
  Nanoseconds period = 0;                       // from the start of one run to the next; 0: back to back
  // ScheduleData::sustained_seconds of its run, where experiments of several runs are joined.
  double sustained_seconds = 0;
  std::optional<protocol::TestStep> place;  // the step of a language model that was measured
  std::string method;                       // empty: RunData::method
  std::vector<std::string> backends;        // backends of the method's delegates
  std::vector<protocol::TensorInfo> inputs, outputs;
  std::string inputs_from;
  std::string inputs_sha256;  // result of HashInputs; empty: not known

  std::vector<Launch> launches;
  std::vector<protocol::OutputDigest> output_digests;  // digests from the first launch; empty: not known
  // The difference from the outputs that a bundled program expects; absent: not a bundled program, or not
  // known.
  std::optional<OutputDifference> difference_from_expected;
  std::filesystem::path etdump;  // absolute; empty: none (yet)
  // ETDump in memory that replaces the file `etdump`: merged with the parts that a killed measurement left.
  // Null: use the file.
  std::shared_ptr<const std::string> etdump_contents;
  std::vector<RunLabel> etdump_runs;  // one label per run of `etdump`; empty: not known, as for a bare file
  std::filesystem::path log, latency_csv, xnntrace_log;  // absolute; empty: none
  // Results of extra runs; empty or null: none.
  std::vector<CountersRow> counters;          // --counters
  std::vector<InstructionsRow> instructions;  // --instructions
  std::shared_ptr<const WatchData> watch;     // --watch
  std::string error;
  std::vector<std::string> warnings;

  const std::string& LabelOrName() const { return label.empty() ? name : label; }
  // The settings as text, which is equal for experiments that differ only in the model.
  std::string Settings() const;
  // "<stem><suffix>" in the folder of the log; empty: there is no log.
  std::filesystem::path PathNextToLog(const char* suffix) const;
  // The clean runs of all complete and partial launches by round, for the comparison. A round without clean
  // runs is an empty entry. Empty for kernel-log experiments.
  std::vector<UntracedBurst> Bursts() const;
  // The recorded latencies of complete and partial launches in chronological order: of the clean runs, or of
  // all runs.
  std::vector<Nanoseconds> Latencies() const;
  std::vector<Nanoseconds> AllLatencies() const;
  // Latencies(), or AllLatencies() if no run is clean.
  std::vector<Nanoseconds> CleanOrAllLatencies() const;
  // CPU times of all threads in the clean runs for which they are known.
  std::vector<Nanoseconds> CpuTimes() const;
  // Launch::CleanLatency, in ns, of each complete or partial launch that has one, in order.
  std::vector<double> LaunchLatencies() const;
  // The fraction of the bursts' time for which threads were runnable but had no CPU; 0 if not known.
  double WaitedShare() const;
  std::optional<Nanoseconds> MedianFirstRun() const;  // median of Launch::CleanFirstRun; absent: no values
  std::optional<Nanoseconds> MedianLoad() const;
  std::optional<Bytes> PeakRss() const;        // the largest of any launch
  std::optional<Bytes> PeakSinceLoad() const;  // the largest of any launch
  LatencyMetrics ComputeLatencyMetrics() const { return LatencyMetrics(*this); }
  // True if the timeline CSV of an analysis (one row per event) is next to the ETDump.
  bool HasTimelineCsv() const;

  // The members that both metrics.json and manifest.json have.
  static void DescribeMetrics(auto& v) {
    v.Flat(&ExperimentData::ComputeLatencyMetrics);
    v("threads", &ExperimentData::threads, {.meaning = "of the runner's thread pool", .min = 1});
    v("etdump", &ExperimentData::etdump,
      {.meaning = "relative to the results directory", .or_null = true, .relative = true});
    v("log", &ExperimentData::log,
      {.meaning = "each launch's command line, stderr, and a third-party runner's stdout; a path as `etdump`",
       .or_null = true,
       .relative = true});
  }
  static constexpr const char* kSchemaName = "result";
  static void Describe(auto& v) {
    v("experiment", &ExperimentData::name, {.meaning = "its name in the configuration, also its folder"});
    v("label", &ExperimentData::label, {.meaning = "its name in reports"});
    v("mode", &ExperimentData::mode,
      {.meaning = "`xnntrace`: a kernel-log run", .choices = "timing|xnntrace"});
    DescribeMetrics(v);
    v("latency_csv", &ExperimentData::latency_csv,
      {.meaning = "the latency of every run; a path as `etdump`", .or_null = true, .relative = true});
    v("xnntrace_log", &ExperimentData::xnntrace_log,
      {.meaning = "of a kernel-log run; a path as `etdump`", .or_null = true, .relative = true});
    v("error", &ExperimentData::error,
      {.meaning = "why the experiment failed; null: it did not", .or_null = true});
    v("warnings", &ExperimentData::warnings, {.meaning = "what makes its results less certain"});
    v("trace_enabled", &ExperimentData::trace_enabled,
      {.meaning = "a kernel-log run: its times are never compared"});
    v("foreign", &ExperimentData::third_party_runner,
      {.meaning = "the runner is not etprof-runner, and ran as whole processes"});
    v("emulated", &ExperimentData::emulated, {.meaning = "the CPU was emulated: times are not meaningful"});
    v("tracer_always_on", &ExperimentData::tracer_always_on, {.meaning = "latencies include tracing"});
    v("runner_path", &ExperimentData::runner, {.meaning = "on the machine that etprof ran on"});
    v("runner_sha256", &ExperimentData::runner_sha256,
      {.meaning = "of the runner's file", .pattern = kSha256Pattern, .or_null = true});
    v("runner_built", &ExperimentData::runner_built,
      {.meaning = "preset, compiler of the portable and optimized kernels", .omit_if_empty = true});
    v("configuration_sha256", &ExperimentData::configuration_sha256,
      {.meaning = "of everything except names: two equal ones are an A/A pair",
       .pattern = kSha256Pattern,
       .or_null = true});
    v("command_line", &ExperimentData::command_line, {.meaning = "of the runner"});
    v("model", &ExperimentData::model, {.meaning = "the path of the .pte"});
    v("model_sha256", &ExperimentData::model_sha256,
      {.meaning = "of the .pte", .pattern = kSha256Pattern, .or_null = true});
    v("executorch_version", &ExperimentData::executorch_version,
      {.meaning = "of the runner", .or_null = true});
    v("executorch_libraries", &ExperimentData::executorch_libraries,
      {.meaning = "libraries of ExecuTorch that the runner had mapped", .omit_if_empty = true});
    v("export_executorch_version", &ExperimentData::export_executorch_version,
      {.meaning = "of the export, from the .pte.json beside the .pte", .or_null = true});
    v("operator_clock", &ExperimentData::operator_clock,
      {.meaning = "of XNNPACK's operator times: exact nanoseconds, or XNNPACK's own whole microseconds",
       .choices = "exact|xnnpack",
       .or_null = true});
    v("wait_source", &ExperimentData::wait_source,
      {.meaning =
           "where waiting times come from: the scheduler's statistics of every thread; processor time of "
           "the main thread against the wall clock; what is visible from outside of the process",
       .choices = "schedstat|thread_time|outside",
       .or_null = true});
    v("isa", &ExperimentData::isa,
      {.meaning = "the mask of CPU features as configured; empty: nothing is masked"});
    v("isa_state", &ExperimentData::isa_state,
      {.meaning = "CPU features as the runner saw them; null: a third-party runner"});
    v("cpus", &ExperimentData::cpus, {.meaning = "that it ran on, as configured; empty: any"});
    v("place", &ExperimentData::place, {.meaning = "of a language model's step", .omit_if_empty = true});
    v("method", &ExperimentData::method,
      {.meaning = "that ran, where it is not the run's", .or_null = true, .omit_if_empty = true});
    v("period_ns", &ExperimentData::period,
      {.meaning = "from the start of one run to that of the next; 0: back to back"});
    v("backends", &ExperimentData::backends, {.meaning = "of the method's delegates, each once"});
    v("inputs", &ExperimentData::inputs, {.meaning = "of the method"});
    v("outputs", &ExperimentData::outputs, {.meaning = "of the method"});
    v("inputs_from", &ExperimentData::inputs_from, {.meaning = "in words: a file, or random with its seed"});
    v("inputs_sha256", &ExperimentData::inputs_sha256,
      {.meaning = "of the values in their files, wherever these lie",
       .pattern = kSha256Pattern,
       .omit_if_empty = true});
    v("load_ns", [](const ExperimentData& data) { return data.MedianLoad(); },
      {.meaning = "median over the launches in which no thread waited meanwhile"});
    v("first_run_ns", [](const ExperimentData& data) { return data.MedianFirstRun(); },
      {.meaning = "median over the launches in which no thread waited meanwhile"});
    v("peak_rss_bytes", [](const ExperimentData& data) { return data.PeakRss(); },
      {.meaning = "the largest resident memory of any launch"});
    v("output_digests", &ExperimentData::output_digests,
      {.meaning = "outputs of the first launch; empty: not known"});
    v("from_expected", &ExperimentData::difference_from_expected,
      {.meaning = "how the outputs of the first launch differ from those that the bundled program expects",
       .omit_if_empty = true});
    v.Converted(
        "etdump_runs", [](const ExperimentData& data) { return GroupRuns(data.etdump_runs); },
        [](ExperimentData& data, const std::vector<PhaseRuns>& groups) {
          data.etdump_runs = ExpandRuns(groups);
        },
        {.meaning = kRunsMeaning});
    v("launches", &ExperimentData::launches, {.meaning = "processes of the experiment, in order"});
  }

 private:
  template <typename Visit>
  void ForEachRecordedRun(Visit visit) const;
};

// The reason if a comparison of two experiments cannot show the effect of SME2 although the presets of their
// runners (`etprof build --executorch`) differ only in SME2: both runners have SME instructions, or neither
// has. Empty: the runners differ, are not known, or do not have such presets.
std::string SmeNotDifferentReason(const ExperimentData& baseline, const ExperimentData& candidate);

// Two variants that are compared. A unit of a plan has the index of its experiment in RunData::experiments.
struct ComparePair {
  std::size_t baseline = 0, candidate = 0;
  std::string label = {};                                 // label of the pair as configured; may be empty
  std::string baseline_label = {}, candidate_label = {};  // "avx512 off", "avx512 on"
  // The difference between the outputs of the first launches (CompareOutputs).
  std::optional<OutputDifference> outputs = {};

  // Describes a pair of a plan. Results store pairs as StoredPair.
  static void Describe(auto& v) {
    v("baseline", &ComparePair::baseline_label,
      {.meaning = "label of the variant that the other is compared with"});
    v("candidate", &ComparePair::candidate_label,
      {.meaning = "label of the variant that is compared with the baseline"});
    v("label", &ComparePair::label, {.meaning = "of the pair, as configured; empty: none"});
  }
};

struct RunData;

// A pair as manifest.json stores it: by the names of its experiments.
struct StoredPair {
  struct Variant {
    std::string experiment;
    int threads = 1;
    std::string label;

    static constexpr const char* kSchemaName = "side";
    static void Describe(auto& v) {
      v("experiment", &Variant::experiment, {.meaning = "its name in `results`"});
      v("threads", &Variant::threads, {.meaning = "of the experiment", .min = 1});
      v("label", &Variant::label, {.meaning = "of the variant, in reports"});
    }
  };
  Variant baseline, candidate;
  std::string label;
  std::optional<OutputDifference> outputs;

  static void Describe(auto& v) {
    v("baseline", &StoredPair::baseline, {.meaning = "that the other is compared with"});
    v("candidate", &StoredPair::candidate, {.meaning = "that is compared with the baseline"});
    v("label", &StoredPair::label, {.meaning = "of the pair, as configured; empty: none"});
    v("outputs", &StoredPair::outputs,
      {.meaning = "how the outputs of the two differ", .omit_if_empty = true});
  }
};
std::vector<StoredPair> MakeStoredPairs(const RunData& run);
// Sets `run.pairs`. Adds a problem for each pair whose experiments are not in `run`.
void SetPairs(const std::vector<StoredPair>& pairs, RunData& run);

// RunData::other_load_before and other_load_during as manifest.json stores them.
struct StoredLoad {
  std::string moment;  // "before", "during"
  OtherLoad load;

  static constexpr const char* kSchemaName = "other_load";
  static constexpr bool kRequiresAllKeys = true;
  static void Describe(auto& v) {
    v("at", &StoredLoad::moment,
      {.meaning = "right before the measurement, or from its first launch to its last",
       .choices = "before|during"});
    v.Flat(&StoredLoad::load);
  }
};
std::vector<StoredLoad> MakeStoredLoads(const RunData& run);
void SetLoads(std::vector<StoredLoad> loads, RunData& run);

struct ScheduleData {
  std::uint64_t seed = 0;
  int launches = 0;
  int rounds = 0;
  bool interleaved = true;  // all workers are alive at once; false: whole processes alternate (rounds is 1)
  std::string not_interleaved_reason;
  std::string stop_reason;  // why the measurement ended: "half-width 0.42 % is within 0.50 %", "interrupted"
  // These values include all resumptions.
  int repeated_bursts = 0;              // repetitions of disturbed bursts
  double seconds = 0;                   // wall time of the measurement, without waiting
  double waited_seconds = 0;            // time waited for the device to cool (Config::max_temp)
  std::optional<double> quiet_seconds;  // time waited at the start for a quiet device (Config::wait_minutes)
  double TotalWaitedSeconds() const { return waited_seconds + quiet_seconds.value_or(0); }
  double max_seconds = 0;
  double precision = 0;
  double sustained_seconds = 0;  // continuous load per experiment (`--sustained`); 0: interleaved bursts
  double margin = 0;
  double confidence = 0.95;
  // The confidence level of each interim analysis of the stop rule, so that the final interval covers
  // `confidence` (stats/ratio/stop_rule.h). 0: no interim analyses, since the number of launches was given.
  double interim_confidence = 0;
  // Drift between two stored runs that are compared (CompareOptions::drift); absent: the user gave none.
  std::optional<double> drift;
  // The level for the interval of a single analysis: stricter than `confidence` with interim analyses.
  double IntervalConfidence() const { return interim_confidence > 0 ? interim_confidence : confidence; }

  static void Describe(auto& v) {
    v("seed", &ScheduleData::seed, {.meaning = "of the order within the rounds"});
    v("launches", &ScheduleData::launches,
      {.meaning = "complete ones, of the experiment that has the fewest"});
    v("rounds", &ScheduleData::rounds, {.meaning = "in each launch"});
    v("repeated_bursts", &ScheduleData::repeated_bursts,
      {.meaning = "since too few of their runs were clean"});
    v("sustained_seconds", &ScheduleData::sustained_seconds,
      {.meaning = "each experiment ran so long without a rest; 0: bursts in turns", .min = 0});
    v("interleaved", &ScheduleData::interleaved,
      {.meaning = "all workers were alive at once; false: whole processes, or experiments, alternated"});
    v("why_not_interleaved", &ScheduleData::not_interleaved_reason,
      {.meaning = "in words; null: they are", .or_null = true});
    v("stopped", &ScheduleData::stop_reason, {.meaning = "why the measurement ended, in words"});
    v("seconds", &ScheduleData::seconds,
      {.meaning = "until the last launch ended, without waited_seconds", .min = 0});
    v("waited_seconds", &ScheduleData::waited_seconds, {.meaning = "for the device to cool", .min = 0});
    v("quiet_seconds", &ScheduleData::quiet_seconds,
      {.meaning = "waited before it began, for a quiet and cool device", .min = 0, .omit_if_empty = true});
    v("max_seconds", &ScheduleData::max_seconds, {.meaning = "the limit that it was given", .min = 0});
    v("precision", &ScheduleData::precision,
      {.meaning = "relative half-width of the interval that was asked for", .min = 0});
    v("margin", &ScheduleData::margin,
      {.meaning = "a relative difference within ± this is `same`", .min = 0});
    v("confidence", &ScheduleData::confidence, {.meaning = "of the intervals", .min = 0, .max = 1});
    v("look_confidence", &ScheduleData::interim_confidence,
      {.meaning = "of each look, if there are several, else 0", .min = 0, .max = 1});
  }
};

struct RunData {
  enum class Status { kUnknown, kRunning, kComplete, kInterrupted, kFailed };
  std::filesystem::path folder;
  Status status = Status::kUnknown;  // kRunning without a live process: killed; kUnknown: no manifest
  std::string generated_at;          // UTC, ISO 8601
  std::string etprof_version;
  std::filesystem::path config;  // the configuration's file; empty: none
  std::string config_hash;
  std::string configuration;  // normalized, JSON text; empty: not known

  std::filesystem::path model;  // model of the first experiment
  std::string model_id;         // stem of the model's file name
  std::string model_sha256;
  std::string model_info;  // JSON text of the .pte.json that `etprof export` wrote; empty: none
  std::string method = "forward";
  std::string executorch_sha;  // commit of the checkout that the runner was built from; empty: not known
  std::optional<bool> executorch_dirty;

  std::string platform;  // "linux-x86_64", "mac", "android"
  std::optional<DeviceProperties> device;
  std::optional<PowerMode> power_mode;      // mode that the device was set to; absent: not configured
  std::vector<RoundConditions> conditions;  // in chronological order
  // The load of other processes right before the measurement, and on average from its first launch to its
  // last (over all resumptions). Absent: not known.
  std::optional<OtherLoad> other_load_before, other_load_during;
  std::optional<ResourceLimits> limits_after;  // limits after the measurement; absent: not known
  ScheduleData schedule;
  std::optional<Peaks> peaks;     // machine peaks; absent: not measured
  std::vector<ValuesRow> values;  // compared values of pairs (--values); empty: not measured
  std::vector<ExperimentData> experiments;
  std::vector<ComparePair> pairs;
  std::vector<std::string> warnings;
  std::vector<std::string> problems;  // missing and invalid files that LoadRunDirectory found

  // manifest.json has everything except the latencies of single runs, which are in the CSV files. Paths below
  // the results directory are relative to it. The keys include those of the SME2 profiling kit
  // (`generated_at`, `config`, `model`, `executorch`, `results`).
  static void Describe(auto& v) {
    DescribeSchemaVersion(v, kManifestSchema);
    v("status", &RunData::status,
      {.meaning = "`running` also means killed", .choices = "running|complete|interrupted|failed"});
    v("generated_at", &RunData::generated_at,
      {.meaning = "when the measurement began, UTC",
       .pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"});
    v("etprof_version", &RunData::etprof_version, {.meaning = "that measured"});
    v("config", &RunData::config, {.meaning = "the configuration's file", .or_null = true});
    v("config_hash", &RunData::config_hash, {.meaning = "what --resume compares", .pattern = kSha256Pattern});
    v("model", &RunData::model, {.meaning = "the .pte of the first experiment"});
    v("model_id", &RunData::model_id, {.meaning = "the model's file name without .pte"});
    v("model_sha256", &RunData::model_sha256,
      {.meaning = "of that .pte", .pattern = kSha256Pattern, .or_null = true});
    v("method", &RunData::method, {.meaning = "that ran"});
    v.Object("executorch",
             [](auto& executorch) {
               executorch("sha", &RunData::executorch_sha, {.meaning = "its commit", .or_null = true});
               executorch("dirty", &RunData::executorch_dirty,
                          {.meaning = "it had changes of its own; null: not known"});
             },
             {.meaning = "the checkout that the runner was built from"});
    v("platform", &RunData::platform,
      {.meaning = "of the device, such as `linux-x86_64`, `mac`, or `android`"});
    v("device", &RunData::device, {.meaning = "what it says of itself; null: not known"});
    v("power_mode", &RunData::power_mode,
      {.meaning = "that the device was put into; null: none was asked for"});
    v("schedule", &RunData::schedule, {.meaning = "how bursts were ordered, and when it ended"});
    v("warnings", &RunData::warnings, {.meaning = "of the whole run"});
    v("conditions", &RunData::conditions,
      {.meaning = "how the device was before every round, in the order of time"});
    v.Converted(
        "other_load", [](const RunData& run) { return MakeStoredLoads(run); },
        [](RunData& run, std::vector<StoredLoad> read) { SetLoads(std::move(read), run); },
        {.meaning = "what other processes used of the device's processor; nothing of a moment that is "
                    "not known"});
    v("limits_after", &RunData::limits_after,
      {.meaning = "as `device.limits`, after the measurement; null: not known"});
    v("results", &RunData::experiments,
      {.meaning = "experiment by experiment, one for each number of threads"});
    // Pairs are read after the results, which have the names that the pairs refer to.
    v.Converted(
        "pairs", [](const RunData& run) { return MakeStoredPairs(run); },
        [](RunData& run, const std::vector<StoredPair>& read) { SetPairs(read, run); },
        {.meaning = "of experiments that are compared"});
    v("configuration", &RunData::configuration,
      {.meaning = "the normalized configuration: config.schema.json", .json = true});
    v("model_info", &RunData::model_info, {.meaning = "the .pte.json that the export wrote", .json = true});
  }
};

// Reads a manifest into `run`, whose `folder` must be set. Members without a key keep their defaults; entries
// of a wrong type are skipped and counted in `problems`.
void ReadManifest(const nlohmann::json& manifest, RunData& run);

// The contents of metrics.json, which has the format of the SME2 profiling kit's summary: results[] of
// latency_ms (mean), median_ms, min_ms, max_ms, runs, threads, etdump, log.
struct Metrics {
  struct Entry {
    const ExperimentData& source;

    static void Describe(auto& v) {
      v("experiment", &ExperimentData::name, {.meaning = "its name in the configuration"});
      ExperimentData::DescribeMetrics(v);
    }
  };
  std::vector<Entry> results;

  explicit Metrics(const RunData& run) {
    for (const ExperimentData& data : run.experiments) results.push_back({data});
  }
  static void Describe(auto& v) {
    DescribeSchemaVersion(v, kManifestSchema);
    v("results", &Metrics::results, {.meaning = "experiment by experiment, one for each number of threads"});
  }
};
// The conditions before a burst of a launch; null: not known.
const RoundConditions* FindConditions(const RunData& run, int launch, const Burst& burst);
template <>
inline constexpr const char* kNames<RunData::Status>[] = {"unknown", "running", "complete", "interrupted",
                                                          "failed"};

// Reads a complete or incomplete results directory: a partial run, the layouts of the SME2 profiling kit, or
// only *.etdump files somewhere below `folder` (each becomes an experiment named after its folder or file).
// Missing and invalid files are listed in `problems`. Throws Error (kBadInput) only if `folder` is not a
// folder, or has neither an ETDump nor a manifest. Without `include_unlisted_etdumps`, or with a manifest of
// etprof, ETDumps that the manifest does not name are ignored.
RunData LoadRunDirectory(const std::filesystem::path& folder, bool include_unlisted_etdumps = true);

// Merges the ETDump parts that a killed measurement left, in memory only (MergePartsInMemory). Unreadable
// parts become warnings of the experiments.
void RecoverInMemory(RunData& run);

// Merges the ETDump parts that a killed measurement left, on disk, and removes rows of launches that the
// manifest does not have from the latency files. Returns whether anything changed. Throws Error:
// kDeviceFailed if another etprof process holds the directory's lock, kBadInput if this is not a run of
// etprof, or if a file cannot be written.
bool RecoverRunDirectory(const std::filesystem::path& folder);

}  // namespace etprof
