#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "compare/comparison.h"
#include "core/units.h"
#include "device/power_mode.h"
#include "device/properties.h"
#include "device/vitals.h"
#include "measure/counters_row.h"
#include "measure/peaks_value.h"
#include "protocol/messages.h"

// What a run directory holds, in memory (docs/run-directory.md says which file holds what). The measurement
// fills it as it goes, the run directory's writer stores it, LoadRunDirectory reads it back, and the report
// is made of it.

namespace etprof {

// Consecutive runs of one launch.
struct Burst {
  int round = 0;  // of its launch, counted from 0
  int order = 0;  // its place among the bursts of that round, counted from 0: who came first
  // Wall time of every run in the order they ran: opening, then recorded, then traced.
  std::vector<Nanoseconds> opening;   // unrecorded, until the latency was level
  std::vector<Nanoseconds> recorded;  // the latencies; tracer off, but see ExperimentData::tracer_always_on
  std::vector<Nanoseconds> traced;    // tracer on; for operators, never for the headline
  bool level = true;  // false: the opening runs reached their limit before the latency was level

  // Conditions. Absent: the device does not tell.
  Nanoseconds start = 0, end = 0;       // the device's CLOCK_MONOTONIC; 0: not known
  std::optional<Nanoseconds> cpu_time;  // of the whole process during the burst
  std::optional<int> cpu_start, cpu_end;
  std::optional<std::int64_t> migrations, involuntary_switches;
  std::optional<std::int64_t> frequency_khz, frequency_cap_khz;
  std::optional<double> temperature_celsius;
  std::optional<double> load_average;  // 1 minute

  std::optional<Nanoseconds> Median() const;  // of `recorded`
};

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
  std::optional<Nanoseconds> load;         // program and method
  std::optional<Nanoseconds> first_run;    // weight packing and page faults; traced
  std::vector<Nanoseconds> warmup;         // unrecorded runs after the first and before the first round
  std::optional<Bytes> rss_after_load, peak_rss;
  std::vector<Burst> bursts;  // by round

  // Its traced runs, in the order of its part of the ETDump.
  std::vector<RunLabel> traced_runs;
  // Its part of the ETDump relative to the run directory; empty once it is in the merged one, or when there
  // is none.
  std::string etdump_part;
};
const char* StatusName(Launch::Status status);  // "complete", "partial", "failed"

// How the device was before the bursts of a round: what no worker sees. Where whole processes alternate it is
// read before each of them.
struct RoundConditions {
  int launch = 0, round = 0;  // as in Launch and Burst
  int order = 0;              // of the first burst that followed, as in Burst
  DeviceVitals vitals;
  double waited_seconds = 0;  // for the device to cool
  bool capped = false;        // a clock of a CPU that is used was below what the hardware could do
  bool hot = false;           // above max_temp, or Android's thermal status says that it slows down
};

// The results of one experiment with one number of threads.
struct ExperimentData {
  std::string name;  // as in the configuration; also its folder
  int threads = 1;
  std::string label;  // for people: "sme2 off"; the name (and the threads, where there are several) when none
                      // was given
  std::string mode = "timing";  // or "xnntrace"

  // What ran.
  std::filesystem::path runner;
  std::string runner_sha256;
  std::string
      configuration_sha256;    // of all that was configured but the name and the label; empty: not known
  bool foreign = false;        // not etprof-runner: an executor_runner, run as whole processes
  bool emulated = false;       // exec_wrapper is an emulator: times mean nothing
  bool trace_enabled = false;  // the seeds' second kind of run: evidence of kernels; its times are refused
  bool tracer_always_on =
      false;  // `recorded` latencies include the tracer's cost (a foreign runner's always do)
  std::vector<std::string> command_line;
  std::filesystem::path model;
  std::string model_sha256;
  std::string executorch_version;         // of the runner; empty: not known
  std::string export_executorch_version;  // of the .pte, from the .json beside it; empty: not known
  std::string operator_clock;  // protocol::kExactClock or kXnnpackClock; empty: not known (foreign)
  std::string isa;             // the mask as configured: "-sme,-sme2"
  std::optional<protocol::IsaState> isa_state;  // absent for foreign runners
  std::string cpus;                             // as configured: "0-1", "0x80"; empty: any
  Nanoseconds period = 0;                       // from the start of one run to the next; 0: back to back
  std::vector<std::string> backends;            // of the method's delegates
  std::vector<protocol::TensorInfo> inputs, outputs;
  std::string inputs_from;

  // What came out.
  std::vector<Launch> launches;
  std::vector<protocol::OutputDigest> output_digests;  // of the first launch; empty: not known
  std::filesystem::path etdump;                        // absolute; empty: none (yet)
  std::vector<RunLabel> etdump_runs;  // run by run of `etdump`; empty: not known, as for a bare file
  std::filesystem::path log, latency_csv, xnntrace_log;  // absolute; empty: none
  std::vector<CountersRow> counters;                     // of runs of their own (--counters); empty: none
  std::string error;                                     // why it has failed; empty: it has not
  std::vector<std::string> warnings;

  // The bursts of all complete and partial launches, as the comparison wants them. Empty for trace-enabled
  // experiments.
  std::vector<UntracedBurst> Bursts() const;
  // All recorded latencies of those launches, in the order they were run.
  std::vector<Nanoseconds> Latencies() const;
  std::optional<Nanoseconds> MedianFirstRun() const;
  std::optional<Nanoseconds> MedianLoad() const;
  std::optional<Bytes> PeakRss() const;
  // Whether the per-event CSV of an analysis stands beside the ETDump.
  bool HasTimelineCsv() const;
};

struct ComparePair {
  std::size_t baseline = 0, candidate = 0;      // indices into RunData::experiments
  std::string label;                            // of the pair, as configured; may be empty
  std::string baseline_label, candidate_label;  // "avx512 off", "avx512 on"
  // How the outputs of the two sides' first launches differ; see CompareOutputs.
  struct OutputDifference {
    bool comparable = false;                                   // same number, types and shapes
    bool equal = false;                                        // bit for bit
    std::optional<double> largest_absolute, largest_relative;  // absent: equal, or the values were not kept
    std::string note;                                          // one clause for people
  };
  std::optional<OutputDifference> outputs;
};

struct ScheduleData {
  std::uint64_t seed = 0;
  int launches = 0;         // complete ones, of the experiment that has the fewest
  int rounds = 0;           // in each launch
  bool interleaved = true;  // all workers alive at once; false: whole processes alternate (rounds is 1)
  std::string why_not_interleaved;
  std::string stopped;  // why it stopped, one clause: "half-width 0.42 % is within 0.50 %", "interrupted"
  double seconds = 0;   // of wall clock, over all resumptions; without waiting
  double waited_seconds = 0;  // for the device to cool (Config::max_temp), over all resumptions
  double max_seconds = 0;
  double precision = 0;  // relative half-width asked for
  double sustained_seconds =
      0;              // each experiment ran so long without a rest (`--sustained`); 0: bursts in turns
  double margin = 0;  // "same" lies within +-margin
  double confidence = 0.95;
  // The level each look of the stop rule takes its interval at, so that the one it stops with covers
  // `confidence` (stats/stop_rule.h). 0: there were no looks, the number of launches was given.
  double look_confidence = 0;
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
  ScheduleData schedule;
  std::optional<Peaks> peaks;  // the machine's roofs; absent: they were not measured
  std::vector<ExperimentData> experiments;
  std::vector<ComparePair> pairs;
  std::vector<std::string> warnings;
  std::vector<std::string> problems;  // what this directory lacks or has wrong, found by LoadRunDirectory
};
// The conditions under which a burst of that launch ran; null: not known.
const RoundConditions* ConditionsOf(const RunData& run, int launch, const Burst& burst);
const char* StatusName(RunData::Status status);  // "unknown", "running", "complete", "interrupted", "failed"

// Reads a run directory, however little of it there is: a partial run, the seeds' layouts, or nothing but
// *.etdump files somewhere below `folder` (each becomes an experiment named after its folder or file). What
// is missing or wrong is in `problems`. Throws Error (kBadInput) only when `folder` is not a folder or holds
// no ETDump and no manifest.
// Without `with_bare_files`, ETDumps that the manifest does not name are left out.
RunData LoadRunDirectory(const std::filesystem::path& folder, bool with_bare_files = true);

// Merges the launches' ETDumps that a killed measurement left unmerged. Does nothing when another etprof
// holds the directory's lock, or when nothing is left. Returns whether it changed anything.
bool RecoverRunDirectory(const std::filesystem::path& folder);

}  // namespace etprof
