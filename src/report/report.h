#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "format/program/source/export_notes.h"
#include "format/program/source/noise_budget.h"
#include "measure/store/run_data.h"
#include "profile/analysis/profile.h"
#include "profile/compare/comparison.h"
#include "report/findings/finding.h"
#include "report/findings/speedup.h"
#include "report/kernels/matrix_kernels.h"
#include "report/kernels/watched.h"
#include "report/ladder/ladder.h"
#include "report/run/layers.h"
#include "report/run/roofline.h"
#include "report/run/run_classes.h"
#include "report/run/sustained.h"
#include "stats/distribution.h"
#include "stats/histogram.h"

namespace etprof {

// The contents of a report, computed but without wording: renderers only format them. All times are in
// nanoseconds. Missing values are absent, never 0.

// One operator of an experiment.
struct OperatorRow : SpanStatistics {
  std::size_t op = 0;       // index into Profile::operators
  double mean_self_ns = 0;  // total_self / Breakdown::runs, which adds up over the operators
  double share = 0;         // share of Method::execute, 0 to 1

  const Operator& Op(const Profile& profile) const { return profile.operators[op]; }
  const OperatorSource* Source(const Profile& profile) const {
    return profile.program ? &profile.program->operators[op] : nullptr;
  }

  static constexpr const char* kSchemaName = "operator";
  static void Describe(auto& v) {
    v.Flat(&OperatorRow::Op);
    v("runs", &OperatorRow::runs, {.meaning = "runs of the common set in which the operator ran"});
    v("total_ns", &OperatorRow::total_self, {.meaning = "self time over the common set", .min = kNoMinimum});
    v("mean_ms", &OperatorRow::mean_self_ns,
      {.meaning = "total_ns over all runs of the common set: it adds up over operators",
       .scale = 1e6,
       .or_null = true});
    v("share", &OperatorRow::share, {.meaning = "of `Method::execute`", .or_null = true});
    v("self_ms", &OperatorRow::self, {.meaning = "self time of a run, over the steady runs that it ran in"});
    v("program", &OperatorRow::Source, {.meaning = "null: which program ran is not known"});
  }
};

// Kinds of operators that only move data.
enum class Movement { kTranspose, kCopy, kReshape, kConversion, kOther };
struct MovementSum {
  std::int64_t operators = 0;  // number per inference
  double ns = 0;               // sum of mean self times
};

// The confidence interval of the latency over launches, since the medians of launches differ.
struct LatencyInterval {
  double low = 0, high = 0;  // ns
  double confidence = 0.95;
  int launches = 0;

  static constexpr const char* kSchemaName = "interval";
  static void Describe(auto& v) {
    v("low", &LatencyInterval::low, {.meaning = "ms; null: unbounded", .scale = 1e6, .or_null = true});
    v("high", &LatencyInterval::high, {.meaning = "ms; null: unbounded", .scale = 1e6, .or_null = true});
    v("confidence", &LatencyInterval::confidence, {.meaning = "of the interval"});
    v("launches", &LatencyInterval::launches,
      {.meaning = "with a clean run: the spread between them makes the interval"});
  }
};

// A burst as a point in time: the median of its runs and the conditions.
struct BurstPoint {
  int launch = 0, round = 0;      // Launch::index, Burst::round
  std::optional<double> seconds;  // time since the start of the run's first burst; absent: not known
  double median = 0;              // ns
  bool disturbed = false;         // outside Tukey's fences of the experiment's bursts, or never stabilized
  bool hot_or_capped = false;     // the device was hot, or a clock was below the hardware's maximum
  std::optional<double> mhz, celsius;  // absent: not reported by the device
};

struct Report;
struct ReportExperiment {
  std::size_t index = 0;  // index into RunData::experiments
  std::string label;
  std::optional<int> threads;  // absent: not known
  std::string etdump_name;     // file name for tables; empty: no ETDump

  // The headline: clean untraced steady runs (schedule/clean_runs.h), or all of them if none is clean.
  // Without untraced runs, Method::execute of the traced steady runs.
  stats::Distribution latency;
  stats::Distribution latency_of_all;  // all untraced runs, clean or not: what a user experiences
  std::int64_t clean_runs = 0;         // number of clean runs in `latency_of_all`; 0: no untraced runs
  std::optional<double> cpu_time;      // ns; processor time of all threads, median over the clean runs
  // Processor time of the busiest thread, in ns per untraced or traced run.
  std::optional<double> cpu_of_busiest;
  stats::Histogram latency_histogram;          // ns; runs of the headline latency
  std::vector<stats::EcdfPoint> latency_ecdf;  // runs of the headline latency
  // Not empty: the runs do different work, so no single latency describes them, and `latency` is only
  // meaningful as a count.
  std::vector<RunClass> run_classes;
  bool latency_from_trace = false;
  std::optional<std::string_view> LatencySource() const {  // absent: no runs
    return latency.n == 0 ? std::nullopt : std::optional(LatencySourceName(latency_from_trace));
  }
  Nanoseconds period = 0;                   // ns between the starts of runs; 0: back to back
  std::int64_t late_runs = 0;               // number of runs of `latency_of_all` longer than the period
  std::optional<Sustained> sustained;       // only for sustained runs
  bool tracer_always_on = false;            // no untraced runs are possible, so `latency` includes tracing
  std::optional<LatencyInterval> interval;  // interval of the median; absent: fewer than 2 launches
  stats::Distribution traced;               // Method::execute of the traced steady runs
  std::optional<double> first_run;          // ns; median over launches, or from the trace if not measured
  std::optional<double> load;               // ns; median over launches, or from the trace if not measured
  std::optional<Bytes> peak_rss;
  int launches = 0;                   // complete or partial launches; 0: not known
  std::vector<BurstPoint> bursts;     // by launch and round
  std::int64_t disturbed_bursts = 0;  // number of disturbed entries of `bursts`

  std::optional<Profile> profile;            // absent: no ETDump, or it cannot be read
  std::shared_ptr<const NoiseBudget> noise;  // noise budget of the program (etprof accuracy); null: not known
  CheckedSqnr sqnr;                          // SQNR of the program (etprof export); empty: not known
  std::int64_t traced_runs = 0, first_runs = 0, warmup_runs = 0, steady_runs = 0, disturbed_runs = 0,
               common_runs = 0;
  Breakdown groups, categories, places;    // empty without a profile
  std::vector<OperatorRow> operators;      // by decreasing total_self; without the framework's spans
  std::vector<LayerRow> layers;            // if the model's modules are known (ProgramJoin)
  std::optional<double> attributed_share;  // share of the operators' time that has a layer
  Breakdown by_layer, by_source, by_delegate, by_kernel;  // if the model's modules are known
  std::optional<Roofline> roofline;  // if the work of operators and the machine's peaks are known
  std::optional<double> tracer;  // ns; median of `latency` minus the traced mean, so that the table adds up
  std::int64_t delegate_calls = 0;    // number per inference
  std::int64_t portable_kernels = 0;  // number per inference
  std::map<Movement, MovementSum> movement;
  std::vector<std::string> unknown_operators;   // types that are not in the category table
  std::vector<MatrixKernelRow> matrix_kernels;  // on Arm CPUs
  std::vector<std::string> kernel_evidence;     // result of ListSmeOperators

  // Returns whether the tables use disturbed runs, since no traced run is clean: no conclusions are possible
  // from their times.
  bool TablesAreDisturbed() const { return steady_runs == 0 && disturbed_runs > 0; }
  // Returns whether the latency is of disturbed runs, since no untraced run is clean.
  bool LatencyIsDisturbed() const { return latency_of_all.n > 0 && clean_runs == 0 && !latency_from_trace; }
  // Returns the mean of the group's row over the common set, in ns; 0 if there is no such row.
  double GroupMean(OperatorGroup group) const;
  // The time of the common set that is not in `operators`: the framework's spans and truncated time.
  Nanoseconds NonOperatorTotal() const;
  const ExperimentData& Data(const Report& report) const;
  std::optional<double> MeanExecute() const;
};

// A cost of a process besides its runs: median over launches (ns), or largest peak (bytes).
struct StartupCost {
  // With an estimate, geometric means over the launches of the estimate, whose quotient is its ratio.
  std::optional<double> baseline, candidate;
  std::optional<stats::RatioEstimate> estimate = {};  // baseline / candidate by launch; absent: not paired
  stats::Verdict verdict = stats::Verdict::kInconclusive;  // kFaster: the candidate needs less
};
struct StartupCosts {
  StartupCost load, first_run, peak_memory;
};

// The effects of a release's exporter and of its runtime: main effects on the latency over both exports and
// both runtimes, which were interleaved.
struct ReleaseEffects {
  // Indices into Report::experiments: the older runtime with the newer export, and the newer runtime with the
  // older export.
  std::size_t new_export = 0, new_runtime = 0;
  TimeComparison exporter, runtime;  // ratios without times
  TimeComparison interaction;  // the runtime's effect on the newer export over its effect on the older export

  static constexpr const char* kSchemaName = "release_effects";
  static void Describe(auto& v) {
    v("exporter", &ReleaseEffects::exporter, {.meaning = "of the export, over both runtimes"});
    v("runtime", &ReleaseEffects::runtime, {.meaning = "of the runtime, over both exports"});
    v("interaction", &ReleaseEffects::interaction,
      {.meaning = "the runtime's effect on the newer export over that on the older one"});
  }
};

struct ReportComparison {
  std::size_t baseline = 0, candidate = 0;  // indices into Report::experiments
  std::string label;                        // label of the pair from the configuration; may be empty
  Comparison comparison;
  // Relative half-width of the interval, if there is a paired estimate: the smallest change that the
  // comparison can show.
  std::optional<double> half_width;
  bool same_configuration = false;  // an A/A pair, so half_width is this machine's noise floor
  bool differs_in_release = false;  // two ExecuTorch releases, and nothing else differs but their exports
  bool ran_own_exports = false;     // two ExecuTorch releases, and each ran what it exported
  std::optional<ReleaseEffects> effects;  // if the exports differ, and each also ran with the other runtime
  std::optional<OutputDifference> outputs;
  StartupCosts costs;
  // If the model's modules are known; without overheads and truncated time.
  std::vector<LayerDelta> layers;
  std::vector<DeltaRow> by_source, by_delegate, by_kernel;
  std::optional<SpeedupFactors> factors;  // if the machine's peaks explain the verdict
};

// A time of a candidate compared with a baseline.
struct MatrixCell : TimeComparison {
  std::optional<double> efficiency;  // only in a thread sweep

  static void Describe(auto& v) {
    TimeComparison::Describe(v);
    v("efficiency", &MatrixCell::efficiency,
      {.meaning = "of a thread sweep: speedup over the ratio of the threads; 1 is perfect", .min = 0});
  }
};
// A time of several experiments compared with one baseline.
struct MatrixRow {
  std::string name;
  std::optional<std::size_t> op = {};  // for operators: index into the baseline's Profile::operators
  std::optional<std::string> key = {};
  std::optional<double> baseline_ns = {};  // present even if no candidate has such a time
  std::vector<MatrixCell> cells = {};      // indexed by candidate

  static constexpr const char* kSchemaName = "matrix_row";
  static void Describe(auto& v) {
    v("name", &MatrixRow::name, {.meaning = "median latency, a group, or an operator"});
    v("key", &MatrixRow::key, {.meaning = "of an operator of the baseline"});
    v("against", &MatrixRow::cells, {.meaning = "in the order of the candidates"});
  }
};
// Several experiments compared with one baseline in one table.
struct Matrix {
  bool is_thread_sweep = false;  // a thread sweep: one experiment whose baseline has the fewest threads
  bool interleaved = true;       // all were interleaved; else drift cannot be distinguished from an effect
  std::size_t baseline = 0;      // index into Report::experiments
  std::vector<std::size_t> candidates;  // indices into Report::experiments; in a sweep by increasing threads
  MatrixRow latency;
  std::vector<MatrixRow> groups;     // groups that take time in any variant
  std::vector<MatrixRow> operators;  // operators of the baseline by decreasing time
  std::vector<StartupCosts> costs;   // indexed by candidate
};

// Latencies on one axis, of one experiment or of several that are compared with each other.
struct LatencyPlot {
  std::vector<std::size_t> experiments;  // indices of experiments with times into Report::experiments
  stats::SharedHistogram histogram;      // ns; one set per experiment, of the headline's runs
};

struct Report {
  std::string title;
  RunData run;                           // the measurement, the device, and the conditions
  std::string model_id, backend, dtype;  // "": not known, or the experiments differ
  std::string common_model_prefix;       // common prefix of the names of several models: "net_xnnpack_"
  bool from_bare_etdumps = false;        // from ETDump files alone, without manifest and conditions
  bool emulated = false;                 // a CPU was emulated
  std::vector<ReportExperiment> experiments;
  std::vector<ReportComparison> comparisons;
  std::optional<Ladder> ladder;  // if the run is an ISA ladder; then there are no matrices
  std::vector<Matrix> matrices;
  std::vector<LevelSpeedups> level_speedups;
  std::vector<WatchedExperiment> watched;
  std::vector<LatencyPlot> latency_plots;  // each experiment with times is in one plot
  std::vector<Finding> findings;
  std::optional<double> noise_floor;  // relative; from an A/A pair in this run
  std::vector<std::string> warnings;
  std::vector<std::string> artifacts;  // other files, relative to the report's folder

  // The measured data of an experiment, an index into `experiments`.
  const ExperimentData& DataAt(std::size_t experiment) const { return experiments[experiment].Data(*this); }
};

// Computes the report of a run. `profiles` are by index of run.experiments; absent: no trace. Never throws
// for irregular or missing data: missing values are absent.
Report Assemble(RunData run, std::vector<std::optional<Profile>> profiles);

// Finds the comparison of two experiments (indices into Report::experiments); null: there is none.
const ReportComparison* FindComparison(const Report& report, std::size_t baseline, std::size_t candidate);

// Returns why a pair of experiments (indices into Report::experiments) cannot be compared; empty: it can.
std::string NotComparedReason(const Report& report, std::size_t baseline, std::size_t candidate);

// Returns whether the experiment (an index into Report::experiments) is in a comparison.
bool IsInPair(const Report& report, std::size_t experiment);

// Experiments whose operators a report lists: the candidates, or all experiments if nothing is compared. For
// a ladder, it is the best setting, or else the highest level.
std::vector<std::size_t> FindSubjects(const Report& report);

// Finds the effects of the exporter and of the runtime for a pair of releases that each ran its own export:
// the main effects over both programs and both runtimes. Absent if the run does not have the other two
// combinations. `baseline` and `candidate` are indices into Report::experiments.
std::optional<ReleaseEffects> FindReleaseEffects(const Report& report, std::size_t baseline,
                                                 std::size_t candidate);

// The matrices of a report whose experiments and comparisons are filled: one per thread sweep (an experiment
// with several numbers of threads, compared with the smallest), and one per baseline that several experiments
// are compared with. Comparisons of a sweep that the report lacks are computed.
std::vector<Matrix> FindMatrices(const Report& report);

// Makes the plots of a report whose comparisons, ladder, and matrices are filled.
std::vector<LatencyPlot> FindLatencyPlots(const Report& report);

// Finds the findings of a report whose other members are filled.
std::vector<Finding> MakeFindings(const Report& report);
// Finds the findings on latency that varied during the measurement: a step, or a trend and two levels.
std::vector<Finding> FindNoise(const RunData& run, const ReportExperiment& experiment);

// Baseline time over candidate time: the ratio of the estimate, else the quotient of the times. Absent if a
// variant has no time, or if the times must not be compared: on an emulated CPU, or if other processes
// disturbed the runs.
std::optional<double> SpeedupRatio(const TimeComparison& time_comparison);

// Scaling efficiency: speedup / ratio of the threads; 1 is perfect scaling. Absent without a ratio.
std::optional<double> ScalingEfficiency(const TimeComparison& time_comparison,
                                        std::optional<int> baseline_threads, std::optional<int> threads);

// "linux-x86_64, 2 cores", the platform and the device's cores as far as they are known.
std::string MachineText(const RunData& run);

// Makes a run of plain ETDump files, one experiment each; two files form a pair. Labels are by index of the
// files; empty labels are replaced by file names.
RunData MakeEtdumpRun(const std::vector<std::filesystem::path>& files,
                      const std::vector<std::string>& labels);

}  // namespace etprof
