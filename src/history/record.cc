#include "history/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/clock.h"
#include "core/error.h"
#include "core/file/sha256.h"
#include "core/units.h"
#include "core/views.h"
#include "device/describe.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

std::string SettingsText(const RunData& run, const ExperimentData& data) {
  std::vector<std::string> parts;
  if (!data.isa.empty()) parts.push_back("isa=" + data.isa);
  if (!data.cpus.empty()) parts.push_back("cpus=" + data.cpus);
  if (data.period > 0) parts.push_back("period=" + FormatExactDuration(data.period));
  if (const double seconds = run.schedule.sustained_seconds; seconds > 0)
    parts.push_back("sustained=" + FormatExactDuration(std::llround(seconds * 1e9)));
  return fmt::format("{}", fmt::join(parts, " "));
}

MachineIdentity MakeMachineIdentity(const RunData& run) {
  const DeviceProperties device = run.device.value_or(DeviceProperties());
  return {run.platform,      device.cpu_model,         device.os,   device.kernel, device.virtualization,
          device.power_mode, GovernorText(run.device), device.cores};
}

bool HasTimes(const Launch& launch) { return launch.status != Launch::Status::kFailed; }

// Returns the median of ln(round / reference) over the rounds that both have; absent: they have no
// common rounds.
std::optional<double> LogRelative(const std::map<int, double>& rounds,
                                  const std::map<int, double>& reference) {
  std::vector<double> logs;
  for (const auto& [round, median] : rounds) {
    const auto other = reference.find(round);
    if (round >= 0 && other != reference.end() && median > 0 && other->second > 0)
      logs.push_back(std::log(median / other->second));
  }
  return stats::Median(logs);
}

std::vector<HistoryLaunch> MakeHistoryLaunches(const ExperimentData& data, const ExperimentData* reference) {
  std::map<int, std::map<int, double>> rounds_of_reference;
  if (reference != nullptr) {
    for (const Launch& launch : reference->launches) {
      if (HasTimes(launch)) rounds_of_reference[launch.index] = launch.CleanRounds();
    }
  }
  std::vector<HistoryLaunch> launches;
  for (const Launch& launch : data.launches) {
    if (!HasTimes(launch)) continue;
    HistoryLaunch entry;
    entry.index = launch.index;
    for (const Burst& burst : launch.bursts) {
      entry.runs += static_cast<std::int64_t>(burst.recorded.size());
      entry.clean_runs += static_cast<std::int64_t>(burst.CleanLatencies().size());
    }
    if (entry.runs == 0) continue;
    if (const auto latency = launch.CleanLatency()) entry.latency = std::llround(*latency);
    if (reference != nullptr)
      entry.log_relative = LogRelative(launch.CleanRounds(), rounds_of_reference[launch.index]);
    launches.push_back(entry);
  }
  std::ranges::sort(launches, {}, &HistoryLaunch::index);
  return launches;
}

// The traced time of each launch: the median over its rounds of the medians of their clean runs.
class TracedTimes {
 public:
  TracedTimes(const Profile& profile, const std::vector<HistoryLaunch>& launches) : launches_(launches) {
    for (std::size_t run = 0; run < profile.runs.size(); ++run) {
      const RunLabel& label = profile.runs[run].label;
      if (label.phase == Phase::kSteady && label.round >= 0) runs_[label.launch][label.round].push_back(run);
    }
  }

  // Times by launch; 0: no runs. `get_time(run)` is in ns.
  std::vector<Nanoseconds> ByLaunch(const auto& get_time) const {
    std::vector<Nanoseconds> times;
    for (const HistoryLaunch& launch : launches_) {
      std::vector<double> medians;
      if (const auto rounds = runs_.find(launch.index); rounds != runs_.end()) {
        for (const auto& [round, runs] : rounds->second) {
          medians.push_back(*stats::Median(MapEach(runs, [&](std::size_t run) {
            return static_cast<double>(std::max<Nanoseconds>(0, get_time(run)));
          })));
        }
      }
      times.push_back(medians.empty() ? 0 : std::llround(*stats::Median(medians)));
    }
    return times;
  }

 private:
  const std::vector<HistoryLaunch>& launches_;
  std::map<int, std::map<int, std::vector<std::size_t>>> runs_;
};

void AddOperators(const Profile& profile, std::int64_t common_runs, HistoryResult& result) {
  const TracedTimes traced(profile, result.launches);
  const std::vector<Nanoseconds> totals =
      traced.ByLaunch([&](std::size_t run) { return profile.runs[run].total; });
  bool by_launch = false;  // the runs have known launches
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (totals[i] > 0) result.launches[i].traced = totals[i];
    by_launch = by_launch || totals[i] > 0;
  }
  result.operator_runs = common_runs;
  const std::size_t count = std::min(profile.operators.size(), profile.statistics.size());
  double all = 0;
  for (std::size_t op = 0; op < count; ++op) all += static_cast<double>(profile.statistics[op].total_self);
  for (std::size_t op = 0; op < count; ++op) {
    HistoryOperator entry{KeyText(profile.operators[op].key), profile.operators[op].name,
                          profile.statistics[op].total_self};
    if (by_launch && static_cast<double>(entry.total_self) >= kMinShareByLaunch * all)
      entry.by_launch = traced.ByLaunch([self = profile.Self(op)](std::size_t run) { return self[run]; });
    result.operators.push_back(std::move(entry));
  }
}

HistoryConditions SummarizeConditions(const RunData& run) {
  HistoryConditions conditions;
  conditions.rounds = static_cast<std::int64_t>(run.conditions.size());
  conditions.hot_rounds = std::ranges::count_if(run.conditions, &RoundConditions::hot);
  conditions.capped_rounds = std::ranges::count_if(run.conditions, &RoundConditions::capped);
  conditions.repeated_bursts = run.schedule.repeated_bursts;
  std::vector<double> celsius, load, khz;
  for (const ExperimentData& data : run.experiments) {
    for (const Launch& launch : data.launches) {
      for (const Burst& burst : launch.bursts) {
        if (burst.temperature_celsius) celsius.push_back(*burst.temperature_celsius);
        if (burst.load_average) load.push_back(*burst.load_average);
        if (burst.frequency_khz) khz.push_back(static_cast<double>(*burst.frequency_khz));
      }
    }
  }
  conditions.celsius = stats::Median(celsius);
  conditions.load = stats::Median(load);
  if (const auto median = stats::Median(khz)) conditions.frequency_khz = std::llround(*median);
  return conditions;
}

// Returns a digest of times in nanoseconds, which make it unique. A resumed measurement has the same digest,
// since it keeps its first launch.
std::string MeasurementIdentity(const RunData& run) {
  std::string text = fmt::format("{}\n{}\n{}\n", run.generated_at, run.config_hash,
                                 run.device ? run.device->name : run.platform);
  for (const ExperimentData& data : run.experiments) {
    text += fmt::format("{} {} {}", data.name, data.threads, data.model_sha256);
    if (!data.launches.empty()) {
      const Launch& first = data.launches.front();
      text += fmt::format(" {} {}", first.load.value_or(-1), first.first_run.value_or(-1));
      for (const Burst& burst : first.bursts) {
        if (!burst.recorded.empty()) text += fmt::format(" {}", burst.recorded.front());
      }
    }
    text += '\n';
  }
  return Sha256HexOfText(text);
}

const ExperimentData* FindReference(const RunData& run, const RecordOptions& options) {
  if (options.reference.empty()) return nullptr;
  std::vector<std::string> names;
  for (const ExperimentData& data : run.experiments) {
    if (data.name == options.reference) return &data;
    names.push_back(data.name);
  }
  throw Error(ExitCode::kUsage, fmt::format("has no experiment `{}` to be the reference", options.reference))
      .InFile(run.folder.string())
      .Remedy(fmt::format("name one of: {}", fmt::join(names, ", ")));
}

}  // namespace

std::size_t HistoryRun::Launches() const {
  std::size_t count = 0;
  for (const HistoryResult& result : results) count += result.launches.size();
  return count;
}

std::string GetName(const SeriesKey& key) {
  std::string name = key.model;
  if (key.method != "forward") name += ", method " + key.method;
  name += ", " + key.experiment;
  if (key.threads != 1) name += ", " + CountedText(key.threads, "thread");
  if (!key.settings.empty()) name += ", " + key.settings;
  return name + ", on " + key.device;
}

std::string DescribeDifferences(const MachineIdentity& before, const MachineIdentity& after) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::string& a, const std::string& b) {
    if (a != b && !a.empty() && !b.empty()) parts.push_back(fmt::format("{} {} -> {}", name, a, b));
  };
  const auto cores = [](int count) { return count > 0 ? fmt::format("{}", count) : std::string(); };
  add("platform", before.platform, after.platform);
  add("CPU", before.cpu_model, after.cpu_model);
  add("cores", cores(before.cores), cores(after.cores));
  add("system", before.os, after.os);
  add("kernel", before.kernel, after.kernel);
  add("virtualization", before.virtualization, after.virtualization);
  add("power mode", before.power_mode, after.power_mode);
  add("governor", before.governors, after.governors);
  return fmt::format("{}", fmt::join(parts, ", "));
}

RecordedRun MakeHistoryRun(const Report& report, const RecordOptions& options) {
  const RunData& run = report.run;
  RecordedRun recorded;
  HistoryRun& entry = recorded.run;
  const std::optional<std::int64_t> measured_at = ParseUtc(run.generated_at);
  if (!measured_at) {
    throw Error(ExitCode::kBadInput, "does not say when it was measured: it is not a run of etprof")
        .InFile(run.folder.string())
        .Remedy("add results directories that `etprof profile` or `etprof run` wrote");
  }
  const ExperimentData* const reference = FindReference(run, options);
  entry.identity = MeasurementIdentity(run);
  entry.commit = options.commit;
  entry.measured_at = *measured_at;
  entry.time = options.time.value_or(*measured_at);
  entry.etprof_version = run.etprof_version;
  entry.reference = options.reference;
  entry.machine = MakeMachineIdentity(run);
  entry.conditions = SummarizeConditions(run);
  const bool interleaved = run.schedule.interleaved && run.schedule.sustained_seconds == 0;
  if (reference != nullptr && !interleaved) {
    recorded.omitted_experiments.push_back(
        "nothing is relative to the reference: the experiments were not measured interleaved");
  }
  for (const ReportExperiment& experiment : report.experiments) {
    const ExperimentData& data = run.experiments[experiment.index];
    const auto leave_out = [&](const char* reason) {
      recorded.omitted_experiments.push_back(fmt::format("{}: {}", experiment.label, reason));
    };
    if (data.trace_enabled) {
      leave_out("a kernel-log run has no times of its own");
      continue;
    }
    if (data.emulated) {
      leave_out("the times of an emulated CPU mean nothing");
      continue;
    }
    HistoryResult result;
    const bool is_main_model = data.model.empty() || data.model == run.model;
    result.series = {is_main_model && !options.model.empty() ? options.model
                     : data.model.empty()                    ? run.model_id
                                                             : data.model.stem().string(),
                     run.method,
                     data.name,
                     data.threads,
                     SettingsText(run, data),
                     !run.device                                             ? run.platform
                     : run.device->name == "local" && !options.local.empty() ? options.local
                                                                             : run.device->name};
    result.model_sha256 = data.model_sha256;
    result.runner_sha256 = data.runner_sha256;
    result.executorch_version = data.executorch_version;
    const bool relative = reference != nullptr && interleaved && &data != reference;
    result.launches = MakeHistoryLaunches(data, relative ? reference : nullptr);
    if (result.launches.empty()) {
      leave_out("no launch has times");
      continue;
    }
    if (experiment.profile) AddOperators(*experiment.profile, experiment.common_runs, result);
    entry.results.push_back(std::move(result));
  }
  if (entry.results.empty()) {
    throw Error(ExitCode::kBadInput, recorded.omitted_experiments.empty()
                                         ? "has no experiment with times"
                                         : "has no times to keep: " + recorded.omitted_experiments.front())
        .InFile(run.folder.string())
        .Remedy("add a results directory with measured times");
  }
  return recorded;
}

}  // namespace etprof
