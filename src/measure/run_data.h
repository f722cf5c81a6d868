#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "compare/comparison.h"
#include "core/units.h"
#include "device/other_load.h"
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

  // Run by run of the three above: for how long since the end of the run before the threads wanted a
  // processor and had none (runner/waiting.h). Empty, or -1: not known.
  std::vector<Nanoseconds> opening_wait, recorded_wait, traced_wait;
  std::vector<Nanoseconds>
      recorded_cpu;  // processor time of all threads, run by run; empty, or -1: not known

  // Conditions. Absent: the device does not tell.
  Nanoseconds start = 0, end = 0;       // the device's CLOCK_MONOTONIC; 0: not known
  std::optional<Nanoseconds> cpu_time;  // of the whole process during the burst
  std::optional<int> cpu_start, cpu_end;
  std::optional<std::int64_t> migrations, involuntary_switches;
  std::optional<std::int64_t> frequency_khz, frequency_cap_khz;
  std::optional<double> temperature_celsius;
  std::optional<double> load_average;    // 1 minute
  std::optional<Nanoseconds> steal;      // taken away by the host of a virtual machine, of cpu_start
  std::optional<Nanoseconds> throttled;  // for which the control group's quota was used up
  std::optional<std::int64_t> frequency_start_khz;  // before the burst
  std::vector<Nanoseconds> thread_cpu;  // processor time of each thread, the largest first; empty: not known

  bool IsClean(std::size_t run) const;              // of `recorded`; the rule is IsCleanRun (clean_runs.h)
  bool IsCleanTraced(std::size_t run) const;        // of `traced`
  std::vector<Nanoseconds> CleanLatencies() const;  // the clean runs of `recorded`
  std::optional<Nanoseconds> Median() const;        // of the clean runs
  std::optional<Nanoseconds> MedianOfAll() const;   // of `recorded`
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

  std::optional<protocol::Clocks> clocks;                // one moment of its start; absent: not known
  std::optional<Nanoseconds> load;                       // program and method
  std::optional<Nanoseconds> first_run;                  // weight packing and page faults; traced
  std::optional<Nanoseconds> load_wait, first_run_wait;  // as Burst::recorded_wait; absent: not known
  std::vector<Nanoseconds> warmup;  // unrecorded runs after the first and before the first round
  std::optional<Bytes> rss_after_load, peak_rss;
  std::vector<Burst> bursts;  // by round

  // Its traced runs, in the order of its part of the ETDump.
  std::vector<RunLabel> traced_runs;
  // Its part of the ETDump relative to the run directory; empty once it is in the merged one, or when there
  // is none.
  std::string etdump_part;

  // Absent where it was not measured, or the process had to wait for a processor meanwhile.
  std::optional<Nanoseconds> CleanLoad() const;
  std::optional<Nanoseconds> CleanFirstRun() const;
  // By round: the median of the clean runs of its bursts. A round without any is not in it.
  std::map<int, double> CleanRounds() const;
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
  std::string wait_source;     // protocol::kSchedstat, kThreadTime or kOutside; empty: waiting is not known
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
  // What is read in place of `etdump`: with the parts that a killed measurement left. Null: the file itself.
  std::shared_ptr<const std::string> etdump_contents;
  std::vector<RunLabel> etdump_runs;  // run by run of `etdump`; empty: not known, as for a bare file
  std::filesystem::path log, latency_csv, xnntrace_log;  // absolute; empty: none
  std::vector<CountersRow> counters;                     // of runs of their own (--counters); empty: none
  std::string error;                                     // why it has failed; empty: it has not
  std::vector<std::string> warnings;

  // The clean runs of all complete and partial launches by round, as the comparison wants them: a round
  // without any is there, and empty. Empty for trace-enabled experiments.
  std::vector<UntracedBurst> Bursts() const;
  // The recorded latencies of those launches, in the order they were run: of the clean runs, or of all.
  std::vector<Nanoseconds> Latencies() const;
  std::vector<Nanoseconds> AllLatencies() const;
  // What is described: the clean ones, or all where none is clean.
  std::vector<Nanoseconds> DescribedLatencies() const;
  // Of the clean runs: processor time of all threads, where it is known.
  std::vector<Nanoseconds> CpuTimes() const;
  // Of the bursts' time: for which the threads wanted a processor and had none; 0 where it is not known.
  double WaitedShare() const;
  std::optional<Nanoseconds> MedianFirstRun() const;  // of the clean ones; absent where none is
  std::optional<Nanoseconds> MedianLoad() const;
  std::optional<Bytes> PeakRss() const;
  // Whether the per-event CSV of an analysis stands beside the ETDump.
  bool HasTimelineCsv() const;

 private:
  template <typename Take>
  void ForRecorded(Take take) const;
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
  std::string stopped;      // why it stopped, one clause: "half-width 0.42 % is within 0.50 %", "interrupted"
  int repeated_bursts = 0;  // since they were disturbed, over all resumptions
  double seconds = 0;       // of wall clock, over all resumptions; without waiting
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
  // What other processes used of the device right before the measurement, and on average from its first
  // launch to its last (over all resumptions). Absent: not known.
  std::optional<OtherLoad> other_load_before, other_load_during;
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

// Takes what a killed measurement left unmerged (TakeParts) as if it were merged. Changes nothing on disk.
// What cannot be had is in the experiments' warnings.
void RecoverInMemory(RunData& run);

// Merges on disk what a killed measurement left unmerged, and drops from the latency files what the manifest
// does not know. Returns whether there was anything to do. Throws Error: another etprof holds the directory's
// lock (kDeviceFailed), it is no run of etprof's (kBadInput), or it cannot be written.
bool RecoverRunDirectory(const std::filesystem::path& folder);

}  // namespace etprof
