#include "device/bundle.h"

#include <algorithm>
#include <stdexcept>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/json/json_members.h"

namespace etprof {
namespace {

bool IsFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

}  // namespace

void BundleManifest::Check(const BundleManifest& manifest) {
  if (manifest.start.empty()) throw std::invalid_argument("\"start\" does not say how to start it");
  for (const File& file : manifest.files) {
    if (!IsFileName(file.name)) throw std::invalid_argument("\"files\" names one outside its folder");
  }
}

std::vector<std::string> RunnerBundle::StartCommand(const std::string& bundle_folder) const {
  std::vector<std::string> command;
  for (const std::string& word : manifest.start) {
    const bool is_file =
        std::ranges::any_of(manifest.files, [&](const auto& file) { return file.name == word; });
    command.push_back(word == "." ? bundle_folder : is_file ? bundle_folder + "/" + word : word);
  }
  return command;
}

std::optional<RunnerBundle> FindBundle(const std::filesystem::path& program) {
  RunnerBundle bundle{program.parent_path(), {}};
  const std::filesystem::path file = bundle.folder / kBundleManifest;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
  try {
    FromJson(ParseJson(ReadTextFile(file)), bundle.manifest, ReadMode::kAllKeysRequired);
  } catch (const std::invalid_argument& problem) {
    throw Error(ExitCode::kBadInput, std::string("is not of a bundle: ") + problem.what())
        .InFile(file.string())
        .Remedy("build it again: `etprof build`");
  }
  if (bundle.manifest.program != program.filename().string()) return std::nullopt;
  return bundle;
}

}  // namespace etprof
