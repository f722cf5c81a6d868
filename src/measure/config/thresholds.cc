#include "measure/config/thresholds.h"

#include <fmt/format.h>

#include "core/file.h"
#include "measure/config/json_fields.h"

namespace etprof {
namespace {

constexpr const char* kThresholdsRemedy = "see \"Without running anything\" in docs/guides/ci.md";

// A text, or of counts and sizes a number.
std::string TextOfLimit(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : "";
}

}  // namespace

StaticLimits ReadThresholds(const std::filesystem::path& path) {
  return ParseThresholds(ReadTextFile(path), path);
}

StaticLimits ParseThresholds(const std::string& text, const std::filesystem::path& path) {
  const JsonFields::Source source{text, path};
  const nlohmann::json root = ParseConfigText(source, kThresholdsRemedy);
  JsonFields fields(root, source, "");
  StaticLimits read;
  for (const FactInfo& info : AllFacts()) {
    const std::string key = info.FileKey();
    const nlohmann::json* value = fields.Find(key);
    if (value == nullptr) continue;
    const auto limit = info.Parse(TextOfLimit(*value));
    if (!limit) throw fields.Wrong(key, fmt::format("must be {}, but is {}", info.Expects(), value->dump()));
    read.limits[info.key] = *limit;
  }
  if (const nlohmann::json* tolerance = fields.Find("tolerance")) {
    JsonFields within(*tolerance, source, "tolerance");
    for (const FactInfo& info : AllFacts()) {
      const nlohmann::json* value = within.Find(info.key);
      if (value == nullptr) continue;
      const auto change = ParsePercent(TextOfLimit(*value));
      if (!change || *change < 0)
        throw within.Wrong(info.key, fmt::format("must be a percentage from 0%, but is {}", value->dump()));
      read.tolerances[info.key] = *change;
    }
    within.Finish();
  }
  fields.Finish();
  return read;
}

}  // namespace etprof
