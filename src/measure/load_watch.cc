#include "measure/load_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace etprof {
namespace {

constexpr double kMostShare = 0.05;  // of the time between two snapshots that one may take
constexpr int kMostFailures = 2;     // in a row; then it is given up

nlohmann::ordered_json Json(const OtherLoad& load, const char* at) {
  const auto number = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json object;
  object["at"] = at;
  object["seconds"] = load.seconds;
  object["cores"] = load.cores;
  object["machine_cores"] = number(load.machine_cores);
  object["process_cores"] = number(load.process_cores);
  object["processes"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < std::min(load.processes.size(), kMostLoadNames); ++i) {
    const OtherLoad::Process& process = load.processes[i];
    object["processes"].push_back(
        {{"name", process.name}, {"count", process.count}, {"cores", process.cores}});
  }
  return object;
}

bool IsAmount(double value) { return std::isfinite(value) && value >= 0; }

int MostThreads(const RunData& run) {
  int most = 1;
  for (const ExperimentData& data : run.experiments) most = std::max(most, data.threads);
  return most;
}

}  // namespace

void LoadWatch::AfterLaunch() {
  if (cost_ <= kMostShare * (now_() - last_at_)) Look();
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
  return fmt::format("{}. Times are less certain while that goes on.", LoadText(load));
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

nlohmann::ordered_json OtherLoadJson(const RunData& run) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (run.other_load_before) list.push_back(Json(*run.other_load_before, "before"));
  if (run.other_load_during) list.push_back(Json(*run.other_load_during, "during"));
  return list;
}

void ReadOtherLoad(const ManifestFields& entry, RunData& run) {
  OtherLoad load;
  std::string at;
  entry.Get("at", at);
  entry.Get("seconds", load.seconds);
  entry.Get("cores", load.cores);
  entry.Get("machine_cores", load.machine_cores);
  entry.Get("process_cores", load.process_cores);
  bool right = (at == "before" || at == "during") && load.cores > 0 && IsAmount(load.seconds) &&
               IsAmount(load.machine_cores.value_or(0)) && IsAmount(load.process_cores.value_or(0));
  entry.Each("processes", [&](const ManifestFields& fields) {
    OtherLoad::Process process;
    fields.Get("name", process.name);
    fields.Get("count", process.count);
    fields.Get("cores", process.cores);
    right = right && IsAmount(process.cores) && process.count >= 0;
    if (load.processes.size() < kMostLoadNames) load.processes.push_back(std::move(process));
  });
  if (!right) return entry.CountWrong();
  (at == "before" ? run.other_load_before : run.other_load_during) = std::move(load);
}

}  // namespace etprof
