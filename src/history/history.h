#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

// The runs of a project over time, reduced to what trends need, without traces.
namespace etprof {

// Seconds since 1970, UTC.
using UnixTime = std::int64_t;

// Identifies what is measured repeatedly, for every commit, under the same conditions.
struct SeriesKey {
  std::string model;   // name in the suite, or stem of the file name; the contents may differ between commits
  std::string method;  // "forward"
  std::string experiment;  // name in the configuration
  int threads = 1;
  std::string settings;  // "isa=-avx2 cpus=0-1 period=33ms sustained=10min"; "": none
  std::string device;    // the device's name: "local", "ssh:pi5", an adb serial
  auto operator<=>(const SeriesKey&) const = default;
};

// "mobilenet_v3_small, base, 2 threads, isa=-avx2, on local". Each series has a unique name.
std::string GetName(const SeriesKey& key);

// Identifies a machine. Another identity under the same device name means another machine, or another system
// on the machine.
struct MachineIdentity {
  std::string platform, cpu_model, os, kernel, virtualization, power_mode, governors;
  int cores = 0;  // 0: not known
  auto operator<=>(const MachineIdentity&) const = default;
};

// "kernel 6.1 -> 6.6, cores 4 -> 2"; "" if no known property differs.
std::string DescribeDifferences(const MachineIdentity& before, const MachineIdentity& after);

// One process of an experiment.
struct HistoryLaunch {
  int index = 0;  // launch index in the run; launches of two experiments with equal indices were interleaved
  std::optional<Nanoseconds> latency;  // median over rounds of the clean runs' medians; absent: no clean runs
  std::int64_t clean_runs = 0, runs = 0;
  // log(latency / latency of the reference), the median over the rounds of this launch; absent: there is no
  // reference.
  std::optional<double> log_relative = {};
  // Time of Method::execute in clean traced runs: the median over the rounds of their medians; absent: there
  // are no such runs.
  std::optional<Nanoseconds> traced = {};
};

struct HistoryOperator {
  std::string key;             // KeyText of its identity
  std::string name;            // as ExecuTorch's Inspector shows it
  Nanoseconds total_self = 0;  // ns; sum over the common set of runs
  // Self time in each launch of HistoryResult::launches, computed as HistoryLaunch::traced; 0: no runs.
  // Empty: not stored, since the operator has less than kMinShareByLaunch of all self time, or not known.
  std::vector<Nanoseconds> by_launch = {};
};
inline constexpr double kMinShareByLaunch = 0.005;

// The files that a result was measured with; "": not known.
struct Artifact {
  std::string model_sha256, runner_sha256, executorch_version;
};

// The result of one experiment in one run.
struct HistoryResult : Artifact {
  SeriesKey series;
  std::vector<HistoryLaunch> launches;     // ordered by index
  std::int64_t operator_runs = 0;          // size of the common set, over which total_self is summed
  std::vector<HistoryOperator> operators;  // all spans of the profile, which add up to the total
};

// The conditions of the device during a run.
struct HistoryConditions {
  std::int64_t rounds = 0, hot_rounds = 0, capped_rounds = 0, repeated_bursts = 0;
  std::optional<double> celsius, load;        // medians over the bursts; load: average of one minute
  std::optional<std::int64_t> frequency_khz;  // median over the bursts
};

// The properties of a run that all its results share.
struct RunProperties {
  std::string commit;
  UnixTime time = 0;         // time of the commit, by which runs are ordered
  UnixTime measured_at = 0;  // orders runs of the same commit
  std::string reference;     // the experiment that launches are relative to; "": none
  HistoryConditions conditions;
  MachineIdentity machine;
};

struct HistoryRun : RunProperties {
  std::string identity;  // identifies the measurement; unchanged if it is resumed and gets more launches
  std::string etprof_version;
  std::vector<HistoryResult> results;

  std::size_t Launches() const;  // number of launches of all results
};

}  // namespace etprof
