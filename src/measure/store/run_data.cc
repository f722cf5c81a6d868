#include "measure/store/run_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "build/checkout/presets.h"
#include "core/file/file.h"
#include "measure/schedule/clean_runs.h"
#include "measure/store/run_files.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

std::optional<std::int64_t> IntegerMedian(std::vector<std::int64_t> values) {
  const std::vector<double> numbers(values.begin(), values.end());
  const auto median = stats::Median(numbers);
  if (!median) return std::nullopt;
  return static_cast<std::int64_t>(*median);
}

// True if run `run` of a burst is clean, by its latency and its waiting time (negative or missing: not
// known).
bool IsRunClean(const Burst& burst, const std::vector<Nanoseconds>& latencies,
                const std::vector<Nanoseconds>& waits, std::size_t run) {
  const bool has_wait = run < waits.size() && waits[run] >= 0;
  return !HasExcessiveSteal(burst.steal_time, burst.end - burst.start) &&
         IsCleanRun(latencies[run], has_wait ? std::optional(waits[run]) : std::nullopt);
}

template <typename Getter>
std::optional<Nanoseconds> MedianOfLaunches(const std::vector<Launch>& launches, Getter getter) {
  std::vector<Nanoseconds> values;
  for (const Launch& launch : launches) {
    if (const auto value = getter(launch)) values.push_back(*value);
  }
  return IntegerMedian(values);
}

std::optional<Bytes> LargestOfLaunches(const std::vector<Launch>& launches, const auto& getter) {
  std::optional<Bytes> largest;
  for (const Launch& launch : launches) largest = std::max(largest, getter(launch));
  return largest;
}

}  // namespace

bool Burst::IsClean(std::size_t run) const { return IsRunClean(*this, recorded, recorded_wait, run); }

bool Burst::IsCleanTraced(std::size_t run) const { return IsRunClean(*this, traced, traced_wait, run); }

std::vector<Nanoseconds> Burst::CleanLatencies() const {
  std::vector<Nanoseconds> clean;
  for (std::size_t run = 0; run < recorded.size(); ++run) {
    if (IsClean(run)) clean.push_back(recorded[run]);
  }
  return clean;
}

std::optional<Nanoseconds> Burst::Median() const { return IntegerMedian(CleanLatencies()); }

std::optional<Nanoseconds> Burst::MedianOfAll() const { return IntegerMedian(recorded); }

std::optional<Nanoseconds> Launch::CleanLoad() const {
  return load && IsCleanRun(*load, load_wait) ? load : std::nullopt;
}

std::optional<Nanoseconds> Launch::CleanFirstRun() const {
  return first_run && IsCleanRun(*first_run, first_run_wait) ? first_run : std::nullopt;
}

std::map<int, double> Launch::CleanRounds() const {
  std::map<int, std::vector<double>> clean;
  for (const Burst& burst : bursts) {
    for (const Nanoseconds latency : burst.CleanLatencies())
      clean[burst.round].push_back(static_cast<double>(latency));
  }
  std::map<int, double> medians;
  for (const auto& [round, latencies] : clean) medians[round] = *stats::Median(latencies);
  return medians;
}

std::optional<double> Launch::CleanLatency() const {
  std::vector<double> medians;
  for (const auto& [round, median] : CleanRounds()) medians.push_back(median);
  return stats::Median(medians);
}

std::optional<Bytes> Launch::PeakSinceLoad() const {
  return peak_rss && rss_before_load ? std::optional(*peak_rss - *rss_before_load) : std::nullopt;
}

std::string ExperimentData::Settings() const {
  return fmt::format("{} {} {} {} {}", threads, isa, cpus, period, runner_sha256);
}

std::filesystem::path ExperimentData::PathNextToLog(const char* suffix) const {
  return log.empty() ? std::filesystem::path() : log.parent_path() / (log.stem().string() + suffix);
}

std::vector<UntracedBurst> ExperimentData::Bursts() const {
  std::vector<UntracedBurst> bursts;
  if (trace_enabled) return bursts;
  for (const Launch& launch : launches) {
    if (launch.status == Launch::Status::kFailed) continue;
    std::map<int, UntracedBurst> rounds;  // a round has several bursts if a disturbed burst was repeated
    for (const Burst& burst : launch.bursts) {
      if (burst.recorded.empty()) continue;
      UntracedBurst& round = rounds[burst.round];
      round.launch = launch.index;
      round.round = burst.round;
      const std::vector<Nanoseconds> clean = burst.CleanLatencies();
      round.latency.insert(round.latency.end(), clean.begin(), clean.end());
      round.runs += static_cast<std::int64_t>(burst.recorded.size());
    }
    for (auto& [index, round] : rounds) bursts.push_back(std::move(round));
  }
  return bursts;
}

template <typename Visit>
void ExperimentData::ForEachRecordedRun(Visit visit) const {
  for (const Launch& launch : launches) {
    if (launch.status == Launch::Status::kFailed) continue;
    for (const Burst& burst : launch.bursts) {
      for (std::size_t run = 0; run < burst.recorded.size(); ++run) visit(burst, run);
    }
  }
}

std::vector<Nanoseconds> ExperimentData::Latencies() const {
  std::vector<Nanoseconds> latencies;
  ForEachRecordedRun([&](const Burst& burst, std::size_t run) {
    if (burst.IsClean(run)) latencies.push_back(burst.recorded[run]);
  });
  return latencies;
}

std::vector<Nanoseconds> ExperimentData::AllLatencies() const {
  std::vector<Nanoseconds> latencies;
  ForEachRecordedRun([&](const Burst& burst, std::size_t run) { latencies.push_back(burst.recorded[run]); });
  return latencies;
}

std::vector<Nanoseconds> ExperimentData::CleanOrAllLatencies() const {
  std::vector<Nanoseconds> clean = Latencies();
  return clean.empty() ? AllLatencies() : clean;
}

double ExperimentData::WaitedShare() const {
  double waited = 0, time = 0;
  for (const Launch& launch : launches) {
    if (launch.status == Launch::Status::kFailed) continue;
    for (const Burst& burst : launch.bursts) {
      if (burst.end <= burst.start) continue;
      time += static_cast<double>(burst.end) - static_cast<double>(burst.start);
      const auto add = [&waited](const std::vector<Nanoseconds>& waits, std::size_t step) {
        for (std::size_t run = 0; run < waits.size(); run += step)
          waited += static_cast<double>(std::max<Nanoseconds>(0, waits[run]));
      };
      add(burst.opening_wait, 1);
      add(burst.recorded_wait, static_cast<std::size_t>(std::max(1, burst.runs_per_reading)));
      add(burst.traced_wait, 1);
    }
  }
  return time > 0 ? std::min(1.0, waited / time) : 0;
}

std::vector<Nanoseconds> ExperimentData::CpuTimes() const {
  std::vector<Nanoseconds> times;
  ForEachRecordedRun([&](const Burst& burst, std::size_t run) {
    if (run < burst.recorded_cpu.size() && burst.recorded_cpu[run] >= 0 && burst.IsClean(run))
      times.push_back(burst.recorded_cpu[run]);
  });
  return times;
}

std::vector<double> ExperimentData::LaunchLatencies() const {
  std::vector<double> latencies;
  for (const Launch& launch : launches) {
    if (launch.status == Launch::Status::kFailed) continue;
    if (const auto latency = launch.CleanLatency()) latencies.push_back(*latency);
  }
  return latencies;
}

std::optional<Nanoseconds> ExperimentData::MedianFirstRun() const {
  return MedianOfLaunches(launches, [](const Launch& launch) { return launch.CleanFirstRun(); });
}

std::optional<Nanoseconds> ExperimentData::MedianLoad() const {
  return MedianOfLaunches(launches, [](const Launch& launch) { return launch.CleanLoad(); });
}

std::optional<Bytes> ExperimentData::PeakRss() const {
  return LargestOfLaunches(launches, [](const Launch& launch) { return launch.peak_rss; });
}

std::optional<Bytes> ExperimentData::PeakSinceLoad() const {
  return LargestOfLaunches(launches, [](const Launch& launch) { return launch.PeakSinceLoad(); });
}

bool ExperimentData::HasTimelineCsv() const {
  return !etdump.empty() && Exists(etdump.parent_path() / (etdump.stem().string() + kTimelineSuffix));
}

const RoundConditions* FindConditions(const RunData& run, int launch, const Burst& burst) {
  const RoundConditions* found = nullptr;
  for (const RoundConditions& conditions : run.conditions) {
    if (conditions.launch == launch && conditions.round == burst.round && conditions.order <= burst.order)
      found = &conditions;
  }
  return found;
}

std::string SmeNotDifferentReason(const ExperimentData& baseline, const ExperimentData& candidate) {
  if (!baseline.runner_built || !candidate.runner_built || !baseline.runner_built->sme ||
      baseline.runner_built->sme != candidate.runner_built->sme ||
      !DifferInSme2Only(baseline.runner_built->preset, candidate.runner_built->preset))
    return {};
  return fmt::format("the runners of {} and {} {} instructions of SME", baseline.runner_built->preset,
                     candidate.runner_built->preset,
                     *baseline.runner_built->sme ? "both have" : "both have no");
}

}  // namespace etprof
