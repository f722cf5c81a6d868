#include "measure/conditions/load_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace etprof {
namespace {

constexpr double kMaxSnapshotShare =
    0.05;                        // maximum share of the time between snapshots that a snapshot may take
constexpr int kMaxFailures = 2;  // failures in a row after which no more snapshots are taken

int MaxExperimentThreads(const RunData& run) {
  int max_threads = 1;
  for (const ExperimentData& data : run.experiments) max_threads = std::max(max_threads, data.threads);
  return max_threads;
}

}  // namespace

void LoadWatch::AfterLaunch() {
  const double elapsed = now_() - last_snapshot_time_;
  if (elapsed >= kMinLoadIntervalSeconds && snapshot_seconds_ <= kMaxSnapshotShare * elapsed) TakeSnapshot();
}

void LoadWatch::End() {
  if (last_snapshot_ && now_() > last_snapshot_time_) TakeSnapshot();
}

void LoadWatch::TakeSnapshot() {
  if (failures_ >= kMaxFailures) return;
  const double start = now_();
  std::optional<LoadSnapshot> snapshot = read_();
  last_snapshot_time_ = now_();
  snapshot_seconds_ = last_snapshot_time_ - start;
  failures_ = snapshot ? 0 : failures_ + 1;
  if (last_snapshot_ && snapshot) {
    if (const auto load_since = OtherLoadBetween(*last_snapshot_, *snapshot, cores_)) {
      if (load_) {
        AddLoad(*load_, *load_since);
      } else {
        load_ = load_since;
      }
    }
  }
  last_snapshot_ = std::move(snapshot);
}

std::string LoadWarningBefore(const OtherLoad& load, int threads) {
  if (!IsSignificantLoad(load, threads)) return "";
  return fmt::format("{}. Times are less certain while that lasts.", LoadText(load));
}

std::vector<std::string> LoadWarnings(const RunData& run) {
  const int threads = MaxExperimentThreads(run);
  if (run.other_load_during && IsSignificantLoad(*run.other_load_during, threads))
    return {fmt::format("{} during the measurement: times are less certain",
                        LoadingProcessesText(*run.other_load_during))};
  if (run.other_load_before && IsSignificantLoad(*run.other_load_before, threads))
    return {fmt::format("{} right before the measurement", LoadingProcessesText(*run.other_load_before))};
  return {};
}

}  // namespace etprof
