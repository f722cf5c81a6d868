// Reads peaks.json and the watch files of a results directory.

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "measure/store/peaks.h"
#include "measure/store/run_files.h"
#include "measure/store/watch.h"

namespace etprof {
namespace {

// Reads a JSON file that etprof wrote. Throws Error (kBadInput) for an invalid file, whose message names
// `contents`.
template <typename T>
T ReadEtprofJson(const std::filesystem::path& path, const std::string& contents) {
  const auto damaged = [&](const std::string& problem) {
    return Error(ExitCode::kBadInput, problem).InFile(path.string()).Remedy("measure again, or remove it");
  };
  const nlohmann::json json = ParseJson(ReadTextFile(path));
  if (json.is_discarded()) throw damaged("is not JSON, or is cut short");
  try {
    return json.get<T>();
  } catch (const std::invalid_argument& problem) {
    throw damaged("does not hold " + contents + ": " + problem.what());
  }
}

}  // namespace

std::optional<Peaks> LoadPeaks(const std::filesystem::path& run_directory) {
  const std::filesystem::path path = run_directory / kPeaksFile;
  if (!Exists(path)) return std::nullopt;
  return ReadEtprofJson<Peaks>(path, "the peaks of a machine");
}

std::filesystem::path WatchFile(const ExperimentData& data) { return data.PathNextToLog(kWatchSuffix); }

std::shared_ptr<const WatchData> ReadWatch(const ExperimentData& data) {
  const std::filesystem::path file = WatchFile(data);
  if (!Exists(file)) return nullptr;
  return std::make_shared<const WatchData>(ReadEtprofJson<WatchData>(file, "what a runner watched"));
}

}  // namespace etprof
