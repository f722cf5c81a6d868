#include "measure/store/watch.h"

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "measure/store/own_json.h"

namespace etprof {

std::filesystem::path WatchFile(const ExperimentData& data) {
  if (data.log.empty()) return {};
  return data.log.parent_path() / (data.log.stem().string() + "_watch.json");
}

std::shared_ptr<const WatchData> ReadWatch(const ExperimentData& data) {
  const std::filesystem::path file = WatchFile(data);
  if (file.empty() || !Exists(file)) return nullptr;
  return std::make_shared<const WatchData>(ReadOwnJson<WatchData>(file, "what a runner watched"));
}

void WriteWatch(const WatchData& watch, const std::filesystem::path& path) {
  WriteFileAtomically(path, [&](std::ostream& out) { out << nlohmann::json(watch).dump(1) << '\n'; });
}

}  // namespace etprof
