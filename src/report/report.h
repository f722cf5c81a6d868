#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile.h"
#include "compare/comparison.h"
#include "core/json/describe.h"
#include "core/units.h"
#include "measure/store/run_data.h"
#include "report/findings/insight.h"
#include "report/findings/speedup.h"
#include "report/kernels/matrix_kernels.h"
#include "report/kernels/watched.h"
#include "report/ladder/ladder.h"
#include "report/ladder/payoff.h"
#include "report/run/layers.h"
#include "report/run/roofline.h"
#include "report/run/run_classes.h"
#include "report/run/sustained.h"
#include "stats/distribution.h"
#include "stats/histogram.h"

namespace etprof {

// What is said, computed and not yet worded: the renderers only format it. All times are nanoseconds. What
// does not exist is absent, never 0.

// One operator of an experiment.
struct OperatorRow : SpanStatistics {
  std::size_t op = 0;    // index into Profile::operators
  double mean_self = 0;  // total_self / Breakdown::runs: it adds up over the operators
  double share = 0;      // of Method::execute, 0 to 1
};

// What operators do that only move data.
enum class Movement { kTranspose, kCopy, kReshape, kConversion, kOther };
struct MovementSum {
  std::int64_t operators = 0;  // of one inference
  double ns = 0;               // mean self times
};

// One launch's median may differ from another's: the interval of the latency over launches.
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

// A burst as a point in time: the median of its runs, and what stood around it.
struct BurstPoint {
  int launch = 0, round = 0;      // as in Launch and Burst
  std::optional<double> seconds;  // from the start of the run's first burst to its own; absent: not known
  double median = 0;              // ns
  bool disturbed = false;         // outside Tukey's fences of the experiment's bursts, or never level
  bool throttled = false;         // the device was hot, or a clock below what the hardware could do
  std::optional<double> mhz, celsius;  // absent: the device does not tell
};

struct ReportExperiment {
  std::size_t index = 0;  // into RunData::experiments
  std::string label;
  int threads = 1;
  std::string etdump_name;  // file name, for tables; empty: none

  // The headline: untraced steady runs that are clean (schedule/clean_runs.h), or all of them where none is;
  // where there are none, Method::execute of the traced steady runs.
  stats::Distribution latency;
  stats::Distribution latency_of_all;  // of all untraced runs, clean or not: what a user of this device sees
  std::int64_t clean_runs = 0;         // of `latency_of_all.n`; 0 where nothing was untraced
  std::optional<double> cpu_time;      // ns of processor time of all threads: median over the clean runs
  std::optional<double> cpu_of_busiest;        // ns an untraced or traced run: of the thread that works most
  stats::Histogram latency_histogram;          // of the headline's runs, ns
  std::vector<stats::EcdfPoint> latency_ecdf;  // likewise
  // Where not empty, no one latency describes the runs: `latency` says only how many there are.
  std::vector<RunClass> run_classes;
  bool latency_from_trace = false;
  std::optional<std::string_view> LatencySource() const {  // absent: there are no runs
    return latency.n == 0 ? std::nullopt : std::optional(LatencyFrom(latency_from_trace));
  }
  Nanoseconds period = 0;              // runs were started so far apart; 0: back to back
  std::int64_t late_runs = 0;          // of a paced experiment: of `latency_of_all`, those that took longer
  std::optional<Sustained> sustained;  // of a sustained run only
  bool tracer_always_on = false;       // untraced runs were not to be had: the tracer's cost is in `latency`
  std::optional<LatencyInterval> interval;  // of the median, over launches (at least 2)
  stats::Distribution traced;               // Method::execute of the traced steady runs
  std::optional<double> first_run;          // median over launches; from the trace where it was not measured
  std::optional<double> load;               // likewise
  std::optional<Bytes> peak_rss;
  int launches = 0;                   // complete or partial ones; 0: not known
  std::vector<BurstPoint> bursts;     // by launch and round
  std::int64_t disturbed_bursts = 0;  // of `bursts`

  std::optional<Profile> profile;  // absent: no ETDump, or it could not be read
  std::int64_t traced_runs = 0, first_runs = 0, warmup_runs = 0, steady_runs = 0, disturbed_runs = 0,
               common_runs = 0;
  Breakdown groups, categories, places;  // empty without a profile
  std::vector<OperatorRow> operators;    // by falling total_self; without the framework's spans
  std::vector<LayerRow> layers;          // where the model's modules are known (ProgramJoin)
  std::optional<double> attributed;      // the share of the operators' time that has a layer
  Breakdown by_layer, by_source, by_delegate, by_kernel;  // likewise
  std::optional<Roofline> roofline;  // where the work of operators and the machine's peaks are known
  std::optional<double>
      tracer;  // from the mean of the common set to the median of `latency`: what completes the table
  std::int64_t delegate_calls = 0;    // in one inference
  std::int64_t portable_kernels = 0;  // likewise
  std::map<Movement, MovementSum> movement;
  std::vector<std::string> unknown_operators;   // types that the category table does not know
  std::vector<MatrixKernelRow> matrix_kernels;  // of an Arm CPU's
  std::vector<std::string> kernel_evidence;     // SmeEvidence

  // The tables are made of disturbed runs, since no traced run is clean: nothing follows from their times.
  bool TablesAreDisturbed() const { return steady_runs == 0 && disturbed_runs > 0; }
  // Mean over the common set, ns; 0 where there is no such row.
  double MeanOfGroup(Group group) const;
  std::optional<double> MeanExecute() const;
};

// What a process of a side costs beside its runs: medians over launches (ns), or the largest peak (bytes).
struct SideCost {
  std::optional<double> baseline, candidate;
  std::optional<stats::RatioEstimate> estimate =
      {};  // baseline / candidate, paired by launch; absent where not
  stats::Verdict verdict = stats::Verdict::kInconclusive;  // kFaster: the candidate needs less
};
struct SideCosts {
  SideCost load, first_run, peak_memory;
};

struct ReportComparison {
  std::size_t baseline = 0, candidate = 0;  // indices into Report::experiments
  std::string label;                        // of the pair, as configured; may be empty
  Comparison comparison;
  // A launch-by-launch estimate at hand: half of the interval's width, relative. The smallest change it can
  // show.
  std::optional<double> half_width;
  bool same_configuration = false;  // an A/A pair: half_width is this machine's noise floor
  std::optional<OutputDifference> outputs;
  SideCosts costs;
  std::vector<LayerDelta> layers;                           // where the model's modules are known
  std::vector<DeltaRow> by_source, by_delegate, by_kernel;  // likewise; without overheads and clipped time
  std::optional<SpeedupFactors> factors;                    // where the machine's peaks explain the verdict
};

// One time of several experiments against that of one baseline.
struct MatrixRow {
  std::string name;
  std::optional<std::size_t> op;  // of an operator: index into the baseline's Profile::operators
  std::vector<Quantity> against;  // candidate by candidate
};
// Several experiments against one baseline, in one table.
struct Matrix {
  bool threads = false;      // a thread sweep: one experiment, the baseline being that of the fewest threads
  bool interleaved = true;   // all of them: else drift between the sides cannot be told from an effect
  std::size_t baseline = 0;  // index into Report::experiments
  std::vector<std::size_t> candidates;  // likewise; of a sweep by rising threads
  MatrixRow latency;
  std::vector<MatrixRow> groups;     // those that take time on any side
  std::vector<MatrixRow> operators;  // of the baseline, by its falling time
  std::vector<SideCosts> costs;      // candidate by candidate
};

// Latencies of experiments that are compared with each other, or of one, on one axis.
struct LatencyPlot {
  std::vector<std::size_t> experiments;  // indices into Report::experiments, those with times
  stats::SharedHistogram histogram;      // set by set; of the headline's runs, ns
};

struct Report {
  std::string title;
  RunData run;                           // what was measured, on what, under which conditions
  std::string model_id, backend, dtype;  // "" where unknown, or where the experiments differ
  std::string models_share;  // what the names of several models begin with: "net_xnnpack_"; of two, else both
  bool bare = false;         // made of ETDump files alone: no manifest, no conditions
  bool emulated = false;     // of any experiment
  std::vector<ReportExperiment> experiments;
  std::vector<ReportComparison> comparisons;
  std::optional<Ladder> ladder;  // of a run that is one; it then has no matrices
  std::vector<Matrix> matrices;
  std::vector<Payoff> payoffs;
  std::vector<WatchedExperiment> watched;
  std::vector<LatencyPlot> latency_plots;  // every experiment with times stands in one
  std::vector<Insight> insights;
  std::optional<double> noise_floor;  // relative, of an A/A pair in this run
  std::vector<std::string> warnings;
  std::vector<std::string> artifacts;  // files beside the report, relative to its folder
};

// Computes everything that is said of a run. `profiles` stand index by index of run.experiments; absent where
// there is no trace. Never throws for odd or missing data: what is missing is absent.
Report Assemble(RunData run, std::vector<std::optional<Profile>> profiles);

// That of the two experiments (indices into Report::experiments); null: there is none.
const ReportComparison* FindComparison(const Report& report, std::size_t baseline, std::size_t candidate);

// Whether a comparison has the experiment (an index into Report::experiments) on a side.
bool InPair(const Report& report, std::size_t experiment);

// Whose operators are worth listing: the candidates, or every experiment where nothing is compared; of a
// ladder the best setting, else the highest level.
std::vector<std::size_t> Subjects(const Report& report);

// The plots of a report whose comparisons, ladder and matrices are filled.
std::vector<LatencyPlot> FindLatencyPlots(const Report& report);

// The insights of a report whose other members are filled.
std::vector<Insight> FindInsights(const Report& report);
// Of these what made an experiment's latency vary while it was measured: a step, or a trend and two levels.
std::vector<Insight> FindNoise(const RunData& run, const ReportExperiment& experiment);

// A run of bare ETDump files, one experiment each; two files make one pair. Labels stand index by index of
// the files; empty ones are made of the file names.
RunData RunOfEtdumps(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& labels);

}  // namespace etprof
