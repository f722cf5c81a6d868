#include "measure/run_data.h"

#include <algorithm>

#include "core/file.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

std::optional<std::int64_t> MedianOf(std::vector<std::int64_t> values) {
  const std::vector<double> numbers(values.begin(), values.end());
  const auto median = stats::Median(numbers);
  if (!median) return std::nullopt;
  return static_cast<std::int64_t>(*median);
}

}  // namespace

std::optional<Nanoseconds> Burst::Median() const { return MedianOf(recorded); }

const char* StatusName(Launch::Status status) {
  switch (status) {
    case Launch::Status::kComplete:
      return "complete";
    case Launch::Status::kPartial:
      return "partial";
    case Launch::Status::kFailed:
      return "failed";
  }
  return "failed";
}

const char* StatusName(RunData::Status status) {
  switch (status) {
    case RunData::Status::kUnknown:
      return "unknown";
    case RunData::Status::kRunning:
      return "running";
    case RunData::Status::kComplete:
      return "complete";
    case RunData::Status::kInterrupted:
      return "interrupted";
    case RunData::Status::kFailed:
      return "failed";
  }
  return "unknown";
}

std::vector<UntracedBurst> ExperimentData::Bursts() const {
  std::vector<UntracedBurst> bursts;
  if (trace_enabled) return bursts;
  for (const Launch& launch : launches) {
    if (launch.status == Launch::Status::kFailed) continue;
    for (const Burst& burst : launch.bursts) {
      if (!burst.recorded.empty()) bursts.push_back({launch.index, burst.round, burst.recorded});
    }
  }
  return bursts;
}

std::vector<Nanoseconds> ExperimentData::Latencies() const {
  std::vector<Nanoseconds> latencies;
  for (const Launch& launch : launches) {
    if (launch.status == Launch::Status::kFailed) continue;
    for (const Burst& burst : launch.bursts)
      latencies.insert(latencies.end(), burst.recorded.begin(), burst.recorded.end());
  }
  return latencies;
}

std::optional<Nanoseconds> ExperimentData::MedianFirstRun() const {
  std::vector<Nanoseconds> values;
  for (const Launch& launch : launches) {
    if (launch.first_run) values.push_back(*launch.first_run);
  }
  return MedianOf(values);
}

std::optional<Nanoseconds> ExperimentData::MedianLoad() const {
  std::vector<Nanoseconds> values;
  for (const Launch& launch : launches) {
    if (launch.load) values.push_back(*launch.load);
  }
  return MedianOf(values);
}

std::optional<Bytes> ExperimentData::PeakRss() const {
  std::optional<Bytes> peak;
  for (const Launch& launch : launches) {
    if (launch.peak_rss) peak = std::max(peak.value_or(0), *launch.peak_rss);
  }
  return peak;
}

bool ExperimentData::HasTimelineCsv() const {
  return !etdump.empty() &&
         Exists(etdump.parent_path() / (etdump.stem().string() + "_exec_all_runs_timeline.csv"));
}

const RoundConditions* ConditionsOf(const RunData& run, int launch, const Burst& burst) {
  const RoundConditions* found = nullptr;
  for (const RoundConditions& conditions : run.conditions) {
    if (conditions.launch == launch && conditions.round == burst.round && conditions.order <= burst.order)
      found = &conditions;
  }
  return found;
}

}  // namespace etprof
