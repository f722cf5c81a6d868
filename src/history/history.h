#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

// The runs of a project over time: of each what trends need, without its traces.
namespace etprof {

// Seconds since 1970, UTC.
using UnixTime = std::int64_t;

// What is measured again with every commit, under conditions that are to be the same.
struct SeriesKey {
  std::string model;       // what its suite calls it, or the stem of its file name: its contents differ from
                           // commit to commit
  std::string method;      // "forward"
  std::string experiment;  // its name in the configuration
  int threads = 1;
  std::string settings;  // "isa=-avx2 cpus=0-1 period=33 ms"; "": none
  std::string device;    // its name: "local", "ssh pi5", an adb serial
  auto operator<=>(const SeriesKey&) const = default;
};

// "mobilenet_v3_small, base, 2 threads, isa=-avx2, on local": unique among series.
std::string NameOf(const SeriesKey& key);

// What a device is: another identity under the same name is another machine, or another system on it.
struct MachineIdentity {
  std::string platform, cpu_model, os, kernel, virtualization, power_mode, governors;
  int cores = 0;  // 0: not known
  auto operator<=>(const MachineIdentity&) const = default;
};

// "kernel 6.1 -> 6.6, cores 4 -> 2"; "": nothing that is known differs.
std::string DifferencesOf(const MachineIdentity& before, const MachineIdentity& after);

// One process of an experiment.
struct HistoryLaunch {
  int index = 0;  // that of the launch in its run: equal ones of two experiments were measured together
  std::optional<Nanoseconds> latency;  // median over its rounds of the medians of clean runs; absent: none
  std::int64_t clean_runs = 0, runs = 0;
  // log(this / the reference) of this launch, the median over its rounds; absent: there is no reference.
  std::optional<double> log_relative = {};
  // Method::execute of its clean traced runs, the median over its rounds of their medians; absent: none.
  std::optional<Nanoseconds> traced = {};
};

struct HistoryOperator {
  std::string key;             // KeyText of its identity
  std::string name;            // as ExecuTorch's Inspector shows it
  Nanoseconds total_self = 0;  // over the common set of runs
  // Of the launches in the order of HistoryResult::launches, as HistoryLaunch::traced; 0: none. Empty: not
  // kept, since it has less than kLeastShareByLaunch of all self time, or not known.
  std::vector<Nanoseconds> by_launch = {};
};
inline constexpr double kLeastShareByLaunch = 0.005;

// An experiment of one run.
struct HistoryResult {
  SeriesKey series;
  std::string model_sha256, runner_sha256, executorch_version;  // "": not known
  std::vector<HistoryLaunch> launches;                          // by index
  std::int64_t operator_runs = 0;          // of the common set: total_self is over so many
  std::vector<HistoryOperator> operators;  // every span of the profile, so that they add up
};

// How the device was meanwhile.
struct HistoryConditions {
  std::int64_t rounds = 0, hot_rounds = 0, capped_rounds = 0, repeated_bursts = 0;
  std::optional<double> celsius, load;        // medians over the bursts; load: average of one minute
  std::optional<std::int64_t> frequency_khz;  // likewise
};

struct HistoryRun {
  std::string identity;  // of the measurement: the same when it was resumed and has more launches
  std::string commit;
  UnixTime time = 0;         // of the commit, by which runs are ordered
  UnixTime measured_at = 0;  // and, of one commit, by this
  std::string etprof_version;
  std::string reference;  // the experiment that launches are relative to; "": none
  MachineIdentity machine;
  HistoryConditions conditions;
  std::vector<HistoryResult> results;

  std::size_t Launches() const;  // of all results
};

}  // namespace etprof
