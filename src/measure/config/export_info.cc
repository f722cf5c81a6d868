#include "measure/config/export_info.h"

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/json.h"

namespace etprof {

std::string ExportVersion(const std::filesystem::path& model, std::string* text) {
  std::filesystem::path info = model;
  info += ".json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(info, error)) return "";
  try {
    const nlohmann::json value = ParseJson(ReadTextFile(info));
    if (!value.is_object()) return "";
    if (text != nullptr) *text = value.dump();
    const auto versions = value.find("versions");
    const nlohmann::json& holder = versions != value.end() && versions->is_object() ? *versions : value;
    const auto version = holder.find("executorch");
    return version != holder.end() && version->is_string() ? version->get<std::string>() : "";
  } catch (const std::exception&) {
    return "";
  }
}

}  // namespace etprof
