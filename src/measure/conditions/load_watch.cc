#include "measure/conditions/load_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace etprof {
namespace {

constexpr double kMaxSnapshotShare =
    0.05;                        // maximum share of the time between snapshots that a snapshot may take
constexpr int kMaxFailures = 2;  // failures in a row after which no more snapshots are taken

int MaxThreadsOf(const RunData& run) {
  int max_threads = 1;
  for (const ExperimentData& data : run.experiments) max_threads = std::max(max_threads, data.threads);
  return max_threads;
}

}  // namespace

void LoadWatch::AfterLaunch() {
  const double since = now_() - last_at_;
  if (since >= kMinLoadSeconds && cost_ <= kMaxSnapshotShare * since) TakeSnapshot();
}

void LoadWatch::End() {
  if (last_ && now_() > last_at_) TakeSnapshot();
}

void LoadWatch::TakeSnapshot() {
  if (failures_ >= kMaxFailures) return;
  const double start = now_();
  std::optional<LoadSnapshot> snapshot = read_();
  last_at_ = now_();
  cost_ = last_at_ - start;
  failures_ = snapshot ? 0 : failures_ + 1;
  if (last_ && snapshot) {
    if (const auto more = OtherLoadBetween(*last_, *snapshot, cores_)) {
      if (load_) {
        AddLoad(*load_, *more);
      } else {
        load_ = more;
      }
    }
  }
  last_ = std::move(snapshot);
}

std::string LoadWarningBefore(const OtherLoad& load, int threads) {
  if (!IsSignificantLoad(load, threads)) return "";
  return fmt::format("{}. Times are less certain while that lasts.", LoadText(load));
}

std::vector<std::string> LoadWarnings(const RunData& run) {
  const int threads = MaxThreadsOf(run);
  if (run.other_load_during && IsSignificantLoad(*run.other_load_during, threads))
    return {fmt::format("{} during the measurement: times are less certain",
                        LoadUsersText(*run.other_load_during))};
  if (run.other_load_before && IsSignificantLoad(*run.other_load_before, threads))
    return {fmt::format("{} right before the measurement", LoadUsersText(*run.other_load_before))};
  return {};
}

}  // namespace etprof
