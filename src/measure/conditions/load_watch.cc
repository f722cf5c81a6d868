#include "measure/conditions/load_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace etprof {
namespace {

constexpr double kMostShare = 0.05;  // of the time between two snapshots that one may take
constexpr int kMostFailures = 2;     // in a row; then it is given up

int MostThreads(const RunData& run) {
  int most = 1;
  for (const ExperimentData& data : run.experiments) most = std::max(most, data.threads);
  return most;
}

}  // namespace

void LoadWatch::AfterLaunch() {
  const double since = now_() - last_at_;
  if (since >= kShortestLoadSeconds && cost_ <= kMostShare * since) Look();
}

void LoadWatch::End() {
  if (last_ && now_() > last_at_) Look();
}

void LoadWatch::Look() {
  if (failures_ >= kMostFailures) return;
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
  if (!Matters(load, threads)) return "";
  return fmt::format("{}. Times are less certain while that lasts.", LoadText(load));
}

std::vector<std::string> LoadWarnings(const RunData& run) {
  const int threads = MostThreads(run);
  if (run.other_load_during && Matters(*run.other_load_during, threads))
    return {fmt::format("{} during the measurement: times are less certain",
                        LoadUsersText(*run.other_load_during))};
  if (run.other_load_before && Matters(*run.other_load_before, threads))
    return {fmt::format("{} right before the measurement", LoadUsersText(*run.other_load_before))};
  return {};
}

}  // namespace etprof
