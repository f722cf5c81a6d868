#include "measure/store/watch.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/json_members.h"

namespace etprof {

std::filesystem::path WatchFile(const ExperimentData& data) {
  if (data.log.empty()) return {};
  return data.log.parent_path() / (data.log.stem().string() + "_watch.json");
}

std::shared_ptr<const WatchData> ReadWatch(const ExperimentData& data) {
  const std::filesystem::path file = WatchFile(data);
  if (file.empty() || !Exists(file)) return nullptr;
  const auto damaged = [&](const std::string& problem) {
    return Error(ExitCode::kBadInput, problem).InFile(file.string()).Remedy("measure again, or remove it");
  };
  const nlohmann::json json = ParseJson(ReadTextFile(file));
  if (json.is_discarded()) throw damaged("is not JSON, or is cut short");
  try {
    return std::make_shared<const WatchData>(json.get<WatchData>());
  } catch (const std::invalid_argument& problem) {
    throw damaged(fmt::format("does not hold what a runner watched: {}", problem.what()));
  }
}

void WriteWatch(const WatchData& watch, const std::filesystem::path& path) {
  WriteFileAtomically(path, [&](std::ostream& out) { out << nlohmann::json(watch).dump(1) << '\n'; });
}

}  // namespace etprof
