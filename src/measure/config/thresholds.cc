#include "measure/config/thresholds.h"

#include <fmt/format.h>

#include "core/file/file.h"
#include "core/text/text.h"
#include "measure/config/json_fields.h"

namespace etprof {
namespace {

constexpr const char* kSchemaKey = "$schema";
constexpr const char* kThresholdsRemedy = "see \"Without running anything\" in docs/guides/ci.md";

// The text of a limit: a string, or a number for counts and sizes.
std::string LimitText(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : "";
}

nlohmann::ordered_json StringSchema(const char* pattern) {
  return {{"type", "string"}, {"pattern", pattern}};
}

// The description of a limit in lower case and without a period, like the descriptions of other keys.
std::string FactMeaning(const FactInfo& info) {
  const std::string_view help = info.help;
  return fmt::format("{}{}: {} (`etprof inspect --{}`)", Lower(help.substr(0, 1)), help.substr(1),
                     info.ValidValues(), info.limit);
}

// The schema of the values that FactInfo::Parse accepts.
nlohmann::ordered_json LimitSchema(const FactInfo& info) {
  if (info.unit == FactInfo::Unit::kShare) {
    nlohmann::ordered_json percentage = StringSchema("^(100|[0-9]{1,2}(\\.[0-9]+)?) ?%$");
    percentage["description"] = FactMeaning(info);
    return percentage;
  }
  const bool is_size = info.unit == FactInfo::Unit::kBytes;
  const nlohmann::ordered_json number = {{"type", "integer"}, {"minimum", 0}};
  return {
      {"anyOf",
       {number, StringSchema(is_size ? "^[0-9]+(\\.[0-9]+)?( ?([kKmMgG][iI]?)?[bB])?$" : "^[0-9]{1,18}$")}},
      {"description", FactMeaning(info)}};
}

}  // namespace

StaticLimits ReadThresholds(const std::filesystem::path& path) {
  return ParseThresholds(ReadTextFile(path), path);
}

StaticLimits ParseThresholds(const std::string& text, const std::filesystem::path& path) {
  const JsonFields::Source source{text, path};
  const nlohmann::json root = ParseConfigText(source, kThresholdsRemedy);
  JsonFields fields(root, source, "");
  fields.Find(kSchemaKey);  // marks the key as read: only editors use it
  StaticLimits thresholds;
  for (const FactInfo& info : AllFacts()) {
    const std::string key = info.FileKey();
    const nlohmann::json* value = fields.Find(key);
    if (value == nullptr) continue;
    const auto limit = info.Parse(LimitText(*value));
    if (!limit)
      throw fields.KeyError(key, fmt::format("must be {}, but is {}", info.ValidValues(), value->dump()));
    thresholds.limits[info.key] = *limit;
  }
  if (const nlohmann::json* tolerance = fields.Find("tolerance")) {
    JsonFields tolerance_fields(*tolerance, source, "tolerance");
    for (const FactInfo& info : AllFacts()) {
      const nlohmann::json* value = tolerance_fields.Find(info.key);
      if (value == nullptr) continue;
      const auto change = ParsePercent(LimitText(*value));
      if (!change || *change < 0)
        throw tolerance_fields.KeyError(
            info.key, fmt::format("must be a percentage from 0%, but is {}", value->dump()));
      thresholds.tolerances[info.key] = *change;
    }
    tolerance_fields.Finish();
  }
  fields.Finish();
  return thresholds;
}

nlohmann::ordered_json ThresholdsSchema() {
  nlohmann::ordered_json limits = {
      {kSchemaKey, {{"type", "string"}, {"description", "this schema, for editors"}}}};
  nlohmann::ordered_json tolerances = nlohmann::ordered_json::object();
  for (const FactInfo& info : AllFacts()) {
    limits[info.FileKey()] = LimitSchema(info);
    tolerances[info.key] = StringSchema("^[0-9]+(\\.[0-9]+)? ?%$");
    tolerances[info.key]["description"] =
        fmt::format("of {}; {:g}% without it", info.name, 100 * info.tolerance);
  }
  limits["tolerance"] = {
      {"type", "object"},
      {"properties", std::move(tolerances)},
      {"additionalProperties", false},
      {"description", "relative change for the worse that `check --static` takes for none"}};
  return {{kSchemaKey, "https://json-schema.org/draft/2020-12/schema"},
          {"title", "`--thresholds`"},
          {"description", "Limits that programs have to keep (docs/guides/ci.md)."},
          {"type", "object"},
          {"properties", std::move(limits)},
          {"additionalProperties", false}};
}

}  // namespace etprof
