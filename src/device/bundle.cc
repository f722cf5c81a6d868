#include "device/bundle.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"

namespace etprof {
namespace {

bool IsFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

}  // namespace

std::vector<std::string> RunnerBundle::StartWords(const std::string& at) const {
  std::vector<std::string> words;
  for (const std::string& word : start) {
    const bool is_file = std::ranges::any_of(files, [&](const File& file) { return file.name == word; });
    words.push_back(word == "." ? at : is_file ? at + "/" + word : word);
  }
  return words;
}

std::optional<RunnerBundle> BundleOf(const std::filesystem::path& program) {
  const std::filesystem::path file = program.parent_path() / "bundle.json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
  const auto broken = [&](const std::string& why) {
    return Error(ExitCode::kBadInput, why).InFile(file.string()).Remedy("build it again: `etprof build`");
  };
  RunnerBundle bundle;
  bundle.folder = program.parent_path();
  try {
    const nlohmann::json json = ParseJson(ReadTextFile(file));
    if (!json.is_object()) throw broken("is not a JSON object");
    bundle.target = json.at("target").get<std::string>();
    bundle.executorch = json.at("executorch").get<std::string>();
    bundle.program = json.at("program").get<std::string>();
    bundle.start = json.at("start").get<std::vector<std::string>>();
    for (const nlohmann::json& entry : json.at("files")) {
      bundle.files.push_back({entry.at("name").get<std::string>(), entry.at("bytes").get<Bytes>(),
                              entry.at("sha256").get<std::string>()});
      if (!IsFileName(bundle.files.back().name)) throw broken("names a file outside its folder");
    }
  } catch (const nlohmann::json::exception& exception) {
    throw broken(std::string("is not of a bundle: ") + exception.what());
  }
  if (bundle.start.empty()) throw broken("does not say how to start it");
  if (bundle.program != program.filename().string()) return std::nullopt;
  return bundle;
}

}  // namespace etprof
