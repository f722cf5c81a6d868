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

#include "analysis/profile.h"
#include "compare/comparison.h"
#include "core/json/describe.h"
#include "core/units.h"
#include "device/conditions/other_load.h"
#include "device/conditions/power_mode.h"
#include "device/conditions/vitals.h"
#include "device/properties.h"
#include "measure/instructions/instructions.h"
#include "measure/store/counters_row.h"
#include "measure/store/peaks_value.h"
#include "protocol/messages.h"

// What a results directory holds, in memory (docs/reference/files.md says which file holds what). The
// measurement fills it as it goes, the results directory's writer stores it, LoadRunDirectory reads it back,
// and the report is made of it.

namespace etprof {

inline constexpr int kManifestSchema = 1;

struct WatchData;  // measure/store/watch.h

// Consecutive runs of one launch. Whether its recorded runs are untraced: ExperimentData::tracer_always_on.
struct Burst : protocol::BurstRuns, protocol::BurstConditions {
  int round = 0;
  int order = 0;

  bool IsClean(std::size_t run) const;              // of `recorded`; the rule is IsCleanRun (clean_runs.h)
  bool IsCleanTraced(std::size_t run) const;        // of `traced`
  std::vector<Nanoseconds> CleanLatencies() const;  // the clean runs of `recorded`
  std::optional<Nanoseconds> Median() const;        // of the clean runs
  std::optional<Nanoseconds> MedianOfAll() const;   // of `recorded`

  static constexpr const char* kSchemaName = "burst";
  static void Describe(auto& v) {
    v("round", &Burst::round, {.meaning = "of its launch, from 0; -1: before the first round", .least = -1});
    v("order", &Burst::order, {.meaning = "its place among the bursts of the round, from 0"});
    v("level", &Burst::level, {.meaning = "false: the opening runs ended before the latency stabilized"});
    v("opening_runs", [](const Burst& burst) { return burst.opening.size(); },
      {.meaning = "runs before the recorded ones, until the latency was stable"});
    v("recorded_runs", [](const Burst& burst) { return burst.recorded.size(); },
      {.meaning = "untraced runs, whose times are the latencies"});
    v("clean_runs", [](const Burst& burst) { return burst.CleanLatencies().size(); },
      {.meaning = "of the recorded runs, those whose threads had a processor whenever they wanted one"});
    v("traced_runs", [](const Burst& burst) { return burst.traced.size(); },
      {.meaning = "runs with the tracer on"});
    v("runs_per_reading", &Burst::runs_per_reading,
      {.meaning = "so many consecutive recorded runs share one reading of waiting", .least = 1});
    v("median_ns", [](const Burst& burst) { return burst.Median(); }, {.meaning = "of the clean runs"});
    protocol::BurstConditions::Describe(v);
  }
};

// Runs of the same launch, round and phase that follow each other, as files hold them.
struct RunsOfPhase {
  int launch = 0, round = 0;
  Phase phase = Phase::kSteady;
  std::int64_t runs = 0;

  static constexpr const char* kSchemaName = "runs";
  static void Describe(auto& v) {
    v("launch", &RunsOfPhase::launch, {.meaning = "which process, from 0"});
    v("round", &RunsOfPhase::round, {.meaning = "-1: before the first round", .least = -1});
    v("phase", &RunsOfPhase::phase,
      {.meaning = "of the process's life; `disturbed`: steady, but threads had to wait for a processor"});
    v("runs", &RunsOfPhase::runs, {.meaning = "how many follow each other", .least = 1});
  }
};
std::vector<RunsOfPhase> CountedRuns(const std::vector<RunLabel>& runs);
// Throws std::invalid_argument where there are more than one ETDump can hold.
std::vector<RunLabel> RunLabels(const std::vector<RunsOfPhase>& counted);
inline constexpr std::string_view kRunsMeaning =
    "runs of the ETDump in its order, equal neighbours counted together";

// One process of an experiment's worker.
struct Launch {
  enum class Status {
    kComplete,
    kPartial,  // stopped in the middle (Ctrl-C, time limit): what is here is sound
    kFailed,   // the worker died, hung or answered nonsense; `problem` says which
  };
  int index =
      0;  // counted from 0, the same for all experiments of one turn; has gaps where an experiment missed one
  Status status = Status::kComplete;
  std::string problem;

  std::optional<protocol::Clocks> clocks;  // one moment of its start; absent: not known
  std::optional<Nanoseconds> load;
  std::optional<Nanoseconds> first_run;
  std::optional<Nanoseconds> load_wait, first_run_wait;  // as Burst::recorded_wait; absent: not known
  std::vector<Nanoseconds> warmup;  // unrecorded runs after the first and before the first round
  std::optional<Bytes> rss_after_load, peak_rss;
  std::vector<Burst> bursts;  // by round

  // Its traced runs, in the order of its part of the ETDump.
  std::vector<RunLabel> traced_runs;
  // Its part of the ETDump relative to the results directory; empty once it is in the merged one, or when
  // there is none.
  std::string etdump_part;

  // Absent where it was not measured, or the process had to wait for a processor meanwhile.
  std::optional<Nanoseconds> CleanLoad() const;
  std::optional<Nanoseconds> CleanFirstRun() const;
  // By round: the median of the clean runs of its bursts. A round without any is not in it.
  std::map<int, double> CleanRounds() const;
  std::optional<double> CleanLatency() const;  // the median of these, ns; absent: there are none

  static constexpr const char* kSchemaName = "launch";
  static void Describe(auto& v) {
    v("index", &Launch::index,
      {.meaning = "from 0, the same for all experiments of one turn; gaps: the experiment missed some"});
    v.Converted(
        "status", [](const auto& launch) { return std::string(NameOf(launch.status)); },
        [](Launch& launch, const std::string& read) { launch.SetStatus(read); },
        {.meaning = "`partial`: stopped in the middle, what is here is sound; `failed`: `problem` says why",
         .choices = "complete|partial|failed"});
    v("problem", &Launch::problem, {.meaning = "why it failed", .if_any = true});
    v("clocks", &Launch::clocks, {.meaning = "the device's clocks at one moment of its start"});
    v("load_ns", &Launch::load, {.meaning = "loading program and method"});
    v("load_wait_ns", &Launch::load_wait, {.meaning = "of load_ns: wanted a processor and had none"});
    v("first_run_ns", &Launch::first_run,
      {.meaning = "of the process; it packs weights and meets page faults"});
    v("first_run_wait_ns", &Launch::first_run_wait,
      {.meaning = "of first_run_ns: wanted a processor and had none"});
    v("warmup_runs", [](const Launch& launch) { return launch.warmup.size(); },
      {.meaning = "unrecorded runs after the first one and before the first round"});
    v("rss_after_load_bytes", &Launch::rss_after_load,
      {.meaning = "resident memory of the process after loading"});
    v("peak_rss_bytes", &Launch::peak_rss, {.meaning = "largest resident memory of the process"});
    v.Converted(
        "etdump_part", [](const Launch& launch) { return launch.etdump_part; },
        [](Launch& launch, const std::string& part) { launch.SetPart(part); },
        {.meaning = "only while its ETDump is not merged", .if_any = true, .with = "traced_runs"});
    v.Converted(
        "traced_runs",
        [](const Launch& launch) {
          return launch.etdump_part.empty() ? std::nullopt : std::optional(CountedRuns(launch.traced_runs));
        },
        [](Launch& launch, const std::optional<std::vector<RunsOfPhase>>& counted) {
          if (counted) launch.traced_runs = RunLabels(*counted);
        },
        {.meaning = kRunsMeaning, .if_any = true, .with = "etdump_part"});
    v("bursts", &Launch::bursts, {.meaning = "by round"});
  }
  void SetStatus(const std::string& name);  // one that is not known is kFailed: it is not relied on
  // Throws std::invalid_argument where it leads out of the results directory: what is called our own there is
  // written and removed.
  void SetPart(const std::string& part);
};
template <>
inline constexpr NamedValue<Launch::Status> kNames<Launch::Status>[] = {
    {Launch::Status::kComplete, "complete"},
    {Launch::Status::kPartial, "partial"},
    {Launch::Status::kFailed, "failed"}};

// How the device was before the bursts of a round: what no worker sees. Where whole processes alternate it is
// read before each of them.
struct RoundConditions {
  int launch = 0, round = 0;  // as in Launch and Burst
  int order = 0;              // of the first burst that followed, as in Burst
  DeviceVitals vitals;
  double waited_seconds = 0;  // for the device to cool
  bool capped = false;        // a clock of a CPU that is used was below what the hardware could do
  bool hot = false;           // above max_temp, or Android's thermal status says that it slows down

  static constexpr const char* kSchemaName = "conditions";
  static void Describe(auto& v) {
    v("launch", &RoundConditions::launch, {.meaning = "that the round is of"});
    v("round", &RoundConditions::round, {.meaning = "from 0"});
    v("order", &RoundConditions::order, {.meaning = "of the first burst that followed"});
    v("capped", &RoundConditions::capped,
      {.meaning = "a clock of a CPU that is used was below the hardware's"});
    v("hot", &RoundConditions::hot, {.meaning = "above max_temp, or Android says that it slows down"});
    v("waited_seconds", &RoundConditions::waited_seconds, {.meaning = "for the device to cool", .least = 0});
    v.Flat(&RoundConditions::vitals);
  }
};

struct ExperimentData;

// Of the clean recorded latencies; absent: there are none.
struct LatencyMetrics {
  std::optional<double> mean_ms, median_ms, min_ms, max_ms;
  std::size_t runs = 0, all_runs = 0;

  explicit LatencyMetrics(const ExperimentData& data);
  static void Describe(auto& v) {
    v("latency_ms", &LatencyMetrics::mean_ms,
      {.meaning = "mean of the clean recorded latencies", .least = 0});
    v("median_ms", &LatencyMetrics::median_ms, {.meaning = "of the clean recorded latencies", .least = 0});
    v("min_ms", &LatencyMetrics::min_ms, {.meaning = "of the clean recorded latencies", .least = 0});
    v("max_ms", &LatencyMetrics::max_ms, {.meaning = "of the clean recorded latencies", .least = 0});
    v("runs", &LatencyMetrics::runs, {.meaning = "clean recorded runs, of which the times are"});
    v("all_runs", &LatencyMetrics::all_runs, {.meaning = "recorded runs, clean or not"});
  }
};

// How a runner was built, as its files and, beside an executor_runner of `etprof build --executorch`,
// etprof-build.json tell.
struct RunnerBuilt {
  std::string preset;       // of `etprof build --executorch`; empty: not known
  std::string compiler;     // of its portable and optimized kernels, "GCC 13.3.1"; empty: not known
  std::optional<bool> sme;  // its code has instructions of SME; absent: it is no program for aarch64
  bool operator==(const RunnerBuilt&) const = default;

  static constexpr const char* kSchemaName = "runner_built";
  static void Describe(auto& v) {
    v("preset", &RunnerBuilt::preset, {.meaning = "of etprof build --executorch", .or_null = true});
    v("compiler", &RunnerBuilt::compiler,
      {.meaning = "of its portable and optimized kernels", .or_null = true});
    v("sme", &RunnerBuilt::sme,
      {.meaning = "its code has instructions of SME; null: it is no program for aarch64"});
  }
};

// How the outputs of an experiment differ from those of another, or from expected ones (store/outputs.h).
struct OutputDifference {
  bool comparable = false;
  bool equal = false;
  std::optional<double> largest_absolute, largest_relative;  // absent: equal, or the values were not kept
  std::string note;                                          // one clause for people

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
  int threads = 1;
  std::string label;  // for people: "sme2 off"; the name (and the threads, where there are several) when none
                      // was given
  std::string mode = "timing";  // or "xnntrace"

  // What ran.
  std::filesystem::path runner;
  std::string runner_sha256;
  std::optional<RunnerBuilt> runner_built;  // absent: nothing is known
  std::string
      configuration_sha256;    // of all that was configured but the name and the label; empty: not known
  bool foreign = false;        // not etprof-runner: an executor_runner, run as whole processes
  bool emulated = false;       // exec_wrapper is an emulator: timings are not meaningful
  bool trace_enabled = false;  // the kit's second kind of run: evidence of kernels; its times are refused
  bool tracer_always_on =
      false;  // `recorded` latencies include the tracer's cost (a foreign runner's always do)
  std::vector<std::string> command_line;
  std::filesystem::path model;
  std::string model_sha256;
  std::string executorch_version;                             // that the runner had mapped; empty: not known
  std::vector<protocol::MappedLibrary> executorch_libraries;  // likewise; empty: not known
  std::string export_executorch_version;  // of the .pte, from the .json beside it; empty: not known
  std::string operator_clock;  // protocol::kExactClock or kXnnpackClock; empty: not known (foreign)
  std::string wait_source;     // protocol::kSchedstat, kThreadTime or kOutside; empty: waiting is not known
  std::string isa;             // the mask as configured: "-sme,-sme2"
  std::optional<protocol::IsaState> isa_state;  // absent for foreign runners
  std::string cpus;                             // as configured: "0-1", "0x80"; empty: any
  Nanoseconds period = 0;                       // from the start of one run to the next; 0: back to back
  std::vector<std::string> backends;            // of the method's delegates
  std::vector<protocol::TensorInfo> inputs, outputs;
  std::string inputs_from;
  std::string inputs_sha256;  // as DigestOfInputs; empty: not known

  // What came out.
  std::vector<Launch> launches;
  std::vector<protocol::OutputDigest> output_digests;  // of the first launch; empty: not known
  // From those that a bundled program expects for its inputs; absent: it is none, or they are not known.
  std::optional<OutputDifference> from_expected;
  std::filesystem::path etdump;  // absolute; empty: none (yet)
  // What is read instead of `etdump`: with the parts that a killed measurement left. Null: the file itself.
  std::shared_ptr<const std::string> etdump_contents;
  std::vector<RunLabel> etdump_runs;  // run by run of `etdump`; empty: not known, as for a bare file
  std::filesystem::path log, latency_csv, xnntrace_log;  // absolute; empty: none
  std::vector<CountersRow> counters;                     // of runs of their own (--counters); empty: none
  std::vector<InstructionsRow> instructions;             // likewise (--instructions)
  std::shared_ptr<const WatchData> watch;                // likewise (--watch); null: none
  std::string error;
  std::vector<std::string> warnings;

  // How it ran: the same text for experiments that differ in nothing but the model.
  std::string Settings() const;
  // "<stem><ending>" in the folder of its log; empty: it has none.
  std::filesystem::path FileBesideLog(const char* ending) const;
  // The clean runs of all complete and partial launches by round, as the comparison wants them: a round
  // without any is there, and empty. Empty for kernel-log experiments.
  std::vector<UntracedBurst> Bursts() const;
  // The recorded latencies of those launches, in the order they were run: of the clean runs, or of all.
  std::vector<Nanoseconds> Latencies() const;
  std::vector<Nanoseconds> AllLatencies() const;
  // What is described: the clean ones, or all where none is clean.
  std::vector<Nanoseconds> DescribedLatencies() const;
  // Of the clean runs: processor time of all threads, where it is known.
  std::vector<Nanoseconds> CpuTimes() const;
  // Launch::CleanLatency of each launch that did not fail and has one, in order.
  std::vector<double> LaunchLatencies() const;
  // Of the bursts' time: for which the threads wanted a processor and had none; 0 where it is not known.
  double WaitedShare() const;
  std::optional<Nanoseconds> MedianFirstRun() const;  // of the clean ones; absent where none is
  std::optional<Nanoseconds> MedianLoad() const;
  std::optional<Bytes> PeakRss() const;
  LatencyMetrics MetricsOfLatency() const { return LatencyMetrics(*this); }
  // Whether the per-event CSV of an analysis stands beside the ETDump.
  bool HasTimelineCsv() const;

  // What metrics.json has of it, the manifest too.
  static void DescribeMetrics(auto& v) {
    v.Flat(&ExperimentData::MetricsOfLatency);
    v("threads", &ExperimentData::threads, {.meaning = "of the runner's thread pool", .least = 1});
    v("etdump", &ExperimentData::etdump,
      {.meaning = "relative to the results directory", .or_null = true, .below = true});
    v("log", &ExperimentData::log,
      {.meaning = "each launch's command line, stderr, and a third-party runner's stdout; a path as `etdump`",
       .or_null = true,
       .below = true});
  }
  static constexpr const char* kSchemaName = "result";
  static void Describe(auto& v) {
    v("experiment", &ExperimentData::name, {.meaning = "its name in the configuration, also its folder"});
    v("label", &ExperimentData::label, {.meaning = "its name in reports"});
    v("mode", &ExperimentData::mode,
      {.meaning = "`xnntrace`: a kernel-log run", .choices = "timing|xnntrace"});
    DescribeMetrics(v);
    v("latency_csv", &ExperimentData::latency_csv,
      {.meaning = "the latency of every run; a path as `etdump`", .or_null = true, .below = true});
    v("xnntrace_log", &ExperimentData::xnntrace_log,
      {.meaning = "of a kernel-log run; a path as `etdump`", .or_null = true, .below = true});
    v("error", &ExperimentData::error,
      {.meaning = "why the experiment failed; null: it did not", .or_null = true});
    v("warnings", &ExperimentData::warnings, {.meaning = "what makes its results less certain"});
    v("trace_enabled", &ExperimentData::trace_enabled,
      {.meaning = "a kernel-log run: its times are never compared"});
    v("foreign", &ExperimentData::foreign,
      {.meaning = "the runner is not etprof-runner, and ran as whole processes"});
    v("emulated", &ExperimentData::emulated, {.meaning = "the CPU was emulated: times are not meaningful"});
    v("tracer_always_on", &ExperimentData::tracer_always_on, {.meaning = "latencies include tracing"});
    v("runner_path", &ExperimentData::runner, {.meaning = "on the machine that etprof ran on"});
    v("runner_sha256", &ExperimentData::runner_sha256,
      {.meaning = "of the runner's file", .pattern = kSha256Pattern, .or_null = true});
    v("runner_built", &ExperimentData::runner_built,
      {.meaning = "preset, compiler of the portable and optimized kernels", .if_any = true});
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
      {.meaning = "libraries of ExecuTorch that the runner had mapped", .if_any = true});
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
    v("period_ns", &ExperimentData::period,
      {.meaning = "from the start of one run to that of the next; 0: back to back"});
    v("backends", &ExperimentData::backends, {.meaning = "of the method's delegates, each once"});
    v("inputs", &ExperimentData::inputs, {.meaning = "of the method"});
    v("outputs", &ExperimentData::outputs, {.meaning = "of the method"});
    v("inputs_from", &ExperimentData::inputs_from, {.meaning = "in words: a file, or random with its seed"});
    v("inputs_sha256", &ExperimentData::inputs_sha256,
      {.meaning = "of the values in their files, wherever these lie",
       .pattern = kSha256Pattern,
       .if_any = true});
    v("load_ns", [](const ExperimentData& data) { return data.MedianLoad(); },
      {.meaning = "median over the launches in which no thread waited meanwhile"});
    v("first_run_ns", [](const ExperimentData& data) { return data.MedianFirstRun(); },
      {.meaning = "median over the launches in which no thread waited meanwhile"});
    v("peak_rss_bytes", [](const ExperimentData& data) { return data.PeakRss(); },
      {.meaning = "the largest resident memory of any launch"});
    v("output_digests", &ExperimentData::output_digests,
      {.meaning = "outputs of the first launch; empty: not known"});
    v("from_expected", &ExperimentData::from_expected,
      {.meaning = "how the outputs of the first launch differ from those that the bundled program expects",
       .if_any = true});
    v.Converted(
        "etdump_runs", [](const ExperimentData& data) { return CountedRuns(data.etdump_runs); },
        [](ExperimentData& data, const std::vector<RunsOfPhase>& counted) {
          data.etdump_runs = RunLabels(counted);
        },
        {.meaning = kRunsMeaning});
    v("launches", &ExperimentData::launches, {.meaning = "processes of the experiment, in order"});
  }

 private:
  template <typename Take>
  void ForRecorded(Take take) const;
};

// Why two experiments cannot show what SME2 is worth, although their runners are built to differ in it alone
// (presets of `etprof build --executorch`): the code of both has it, or of none. Empty: it differs, or that
// is not known, or they are no such runners.
std::string WhySmeDoesNotDiffer(const ExperimentData& one, const ExperimentData& other);

struct ComparePair {
  std::size_t baseline = 0, candidate = 0;                // indices into RunData::experiments
  std::string label = {};                                 // of the pair, as configured; may be empty
  std::string baseline_label = {}, candidate_label = {};  // "avx512 off", "avx512 on"
  // How the outputs of the two sides' first launches differ; see CompareOutputs.
  std::optional<OutputDifference> outputs = {};
};

struct RunData;

// A pair as manifest.json holds it: by the names of its experiments.
struct StoredPair {
  struct Side {
    std::string experiment;
    int threads = 1;
    std::string label;

    static constexpr const char* kSchemaName = "side";
    static void Describe(auto& v) {
      v("experiment", &Side::experiment, {.meaning = "its name in `results`"});
      v("threads", &Side::threads, {.meaning = "of the experiment", .least = 1});
      v("label", &Side::label, {.meaning = "of the variant, in reports"});
    }
  };
  Side baseline, candidate;
  std::string label;
  std::optional<OutputDifference> outputs;

  static void Describe(auto& v) {
    v("baseline", &StoredPair::baseline, {.meaning = "that the other is compared with"});
    v("candidate", &StoredPair::candidate, {.meaning = "that is compared with the baseline"});
    v("label", &StoredPair::label, {.meaning = "of the pair, as configured; empty: none"});
    v("outputs", &StoredPair::outputs, {.meaning = "how the outputs of the two differ", .if_any = true});
  }
};
std::vector<StoredPair> StoredPairs(const RunData& run);
// Of a pair whose experiments are not there a problem is kept.
void SetPairs(const std::vector<StoredPair>& pairs, RunData& run);

// RunData::other_load_before and other_load_during as manifest.json holds them.
struct StoredLoad {
  std::string at;  // "before", "during"
  OtherLoad load;

  static constexpr const char* kSchemaName = "other_load";
  static constexpr bool kEveryKey = true;
  static void Describe(auto& v) {
    v("at", &StoredLoad::at,
      {.meaning = "right before the measurement, or from its first launch to its last",
       .choices = "before|during"});
    v.Flat(&StoredLoad::load);
  }
};
std::vector<StoredLoad> StoredLoads(const RunData& run);
void SetLoads(std::vector<StoredLoad> loads, RunData& run);

struct ScheduleData {
  std::uint64_t seed = 0;
  int launches = 0;
  int rounds = 0;
  bool interleaved = true;  // all workers alive at once; false: whole processes alternate (rounds is 1)
  std::string why_not_interleaved;
  std::string stopped;      // why it stopped, one clause: "half-width 0.42 % is within 0.50 %", "interrupted"
  int repeated_bursts = 0;  // since they were disturbed, over all resumptions
  double seconds = 0;       // of wall clock, over all resumptions; without waiting
  double waited_seconds = 0;  // for the device to cool (Config::max_temp), over all resumptions
  // Before it began, for a quiet and cool device (Config::wait_minutes), over all resumptions.
  std::optional<double> quiet_seconds;
  double Waited() const { return waited_seconds + quiet_seconds.value_or(0); }
  double max_seconds = 0;
  double precision = 0;
  double sustained_seconds =
      0;  // each experiment ran so long without a rest (`--sustained`); 0: bursts in turns
  double margin = 0;
  double confidence = 0.95;
  // The level each look of the stop rule takes its interval at, so that the one it stops with covers
  // `confidence` (stats/ratio/stop_rule.h). 0: there were no looks, the number of launches was given.
  double look_confidence = 0;
  // Of two stored runs: CompareOptions::drift, where the user knows it of the machine.
  std::optional<double> drift;
  // The level to take an interval at, so that it covers `confidence`.
  double Level() const { return look_confidence > 0 ? look_confidence : confidence; }

  static void Describe(auto& v) {
    v("seed", &ScheduleData::seed, {.meaning = "of the order within the rounds"});
    v("launches", &ScheduleData::launches,
      {.meaning = "complete ones, of the experiment that has the fewest"});
    v("rounds", &ScheduleData::rounds, {.meaning = "in each launch"});
    v("repeated_bursts", &ScheduleData::repeated_bursts,
      {.meaning = "since too few of their runs were clean"});
    v("sustained_seconds", &ScheduleData::sustained_seconds,
      {.meaning = "each experiment ran so long without a rest; 0: bursts in turns", .least = 0});
    v("interleaved", &ScheduleData::interleaved,
      {.meaning = "all workers were alive at once; false: whole processes, or experiments, alternated"});
    v("why_not_interleaved", &ScheduleData::why_not_interleaved,
      {.meaning = "in words; null: they are", .or_null = true});
    v("stopped", &ScheduleData::stopped, {.meaning = "why the measurement ended, in words"});
    v("seconds", &ScheduleData::seconds,
      {.meaning = "until the last launch ended, without waited_seconds", .least = 0});
    v("waited_seconds", &ScheduleData::waited_seconds, {.meaning = "for the device to cool", .least = 0});
    v("quiet_seconds", &ScheduleData::quiet_seconds,
      {.meaning = "waited before it began, for a quiet and cool device", .least = 0, .if_any = true});
    v("max_seconds", &ScheduleData::max_seconds, {.meaning = "the limit that it was given", .least = 0});
    v("precision", &ScheduleData::precision,
      {.meaning = "relative half-width of the interval that was asked for", .least = 0});
    v("margin", &ScheduleData::margin,
      {.meaning = "a relative difference within ± this is `same`", .least = 0});
    v("confidence", &ScheduleData::confidence, {.meaning = "of the intervals", .least = 0, .most = 1});
    v("look_confidence", &ScheduleData::look_confidence,
      {.meaning = "of each look, if there are several, else 0", .least = 0, .most = 1});
  }
};

struct RunData {
  enum class Status { kUnknown, kRunning, kComplete, kInterrupted, kFailed };
  std::filesystem::path folder;
  Status status =
      Status::kUnknown;      // kRunning on disk without a live process: it was killed; kUnknown: no manifest
  std::string generated_at;  // UTC, ISO 8601
  std::string etprof_version;
  std::filesystem::path config;  // the configuration's file; empty: none
  std::string config_hash;
  std::string configuration;  // normalized, JSON text; empty: not known

  std::filesystem::path model;  // of the first experiment
  std::string model_id;         // the stem of its file name
  std::string model_sha256;
  std::string model_info;  // JSON text of the .pte.json that export wrote; empty: none
  std::string method = "forward";
  std::string executorch_sha;  // of a runner built from a checkout; empty: not known
  std::optional<bool> executorch_dirty;

  std::string platform;  // "linux-x86_64", "mac", "android"
  std::optional<DeviceProperties> device;
  std::optional<PowerMode> power_mode;      // that it was put into; absent: none was asked for
  std::vector<RoundConditions> conditions;  // in the order of time
  // What other processes used of the device right before the measurement, and on average from its first
  // launch to its last (over all resumptions). Absent: not known.
  std::optional<OtherLoad> other_load_before, other_load_during;
  std::optional<ResourceLimits> limits_after;  // as DeviceProperties::limits; absent: not known
  ScheduleData schedule;
  std::optional<Peaks> peaks;  // the machine's peaks; absent: they were not measured
  std::vector<ExperimentData> experiments;
  std::vector<ComparePair> pairs;
  std::vector<std::string> warnings;
  std::vector<std::string> problems;  // what this directory lacks or has wrong, found by LoadRunDirectory

  // manifest.json: everything but the single latencies, which are in the CSV files. Paths below the results
  // directory are relative to it. The kit's keys (`generated_at`, `config`, `model`, `executorch`,
  // `results`) are among them.
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
             [](auto& within) {
               within("sha", &RunData::executorch_sha, {.meaning = "its commit", .or_null = true});
               within("dirty", &RunData::executorch_dirty,
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
        "other_load", [](const RunData& run) { return StoredLoads(run); },
        [](RunData& run, std::vector<StoredLoad> read) { SetLoads(std::move(read), run); },
        {.meaning = "what other processes used of the device's processor; nothing of a moment that is "
                    "not known"});
    v("limits_after", &RunData::limits_after,
      {.meaning = "as `device.limits`, after the measurement; null: not known"});
    v("results", &RunData::experiments,
      {.meaning = "experiment by experiment, one for each number of threads"});
    // After the results, whose names they are.
    v.Converted(
        "pairs", [](const RunData& run) { return StoredPairs(run); },
        [](RunData& run, const std::vector<StoredPair>& read) { SetPairs(read, run); },
        {.meaning = "of experiments that are compared"});
    v("configuration", &RunData::configuration,
      {.meaning = "the normalized configuration: config.schema.json", .json = true});
    v("model_info", &RunData::model_info, {.meaning = "the .pte.json that the export wrote", .json = true});
  }
};

// Fills `run`, whose `folder` is set. Keys that are missing keep their defaults; what has a wrong type is
// left out and counted in `problems`.
void ReadManifest(const nlohmann::json& manifest, RunData& run);

// metrics.json, the kit's summary: results[] of latency_ms (mean), median_ms, min_ms, max_ms, runs, threads,
// etdump, log.
struct Metrics {
  struct Entry {
    const ExperimentData& of;

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
// The conditions under which a burst of that launch ran; null: not known.
const RoundConditions* ConditionsOf(const RunData& run, int launch, const Burst& burst);
template <>
inline constexpr NamedValue<RunData::Status> kNames<RunData::Status>[] = {
    {RunData::Status::kUnknown, "unknown"},
    {RunData::Status::kRunning, "running"},
    {RunData::Status::kComplete, "complete"},
    {RunData::Status::kInterrupted, "interrupted"},
    {RunData::Status::kFailed, "failed"}};

// Reads a results directory, however little of it there is: a partial run, the kit's layouts, or nothing but
// *.etdump files somewhere below `folder` (each becomes an experiment named after its folder or file). What
// is missing or wrong is in `problems`. Throws Error (kBadInput) only when `folder` is not a folder or holds
// no ETDump and no manifest.
// Without `with_bare_files`, ETDumps that the manifest does not name are left out.
RunData LoadRunDirectory(const std::filesystem::path& folder, bool with_bare_files = true);

// Takes what a killed measurement left unmerged (TakeParts) as if it were merged. Changes nothing on disk.
// What cannot be had is in the experiments' warnings.
void RecoverInMemory(RunData& run);

// Merges on disk what a killed measurement left unmerged, and drops from the latency files what the manifest
// does not know. Returns whether there was anything to do. Throws Error: another etprof holds the directory's
// lock (kDeviceFailed), it is no run of etprof's (kBadInput), or it cannot be written.
bool RecoverRunDirectory(const std::filesystem::path& folder);

}  // namespace etprof
