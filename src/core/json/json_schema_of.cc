#include "core/json/json_schema_of.h"

#include <algorithm>

#include "core/text/text.h"

namespace etprof {
namespace {

constexpr std::size_t kMaxColumns = 110;

std::string FormatOnOneLine(const nlohmann::ordered_json& value) {
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, element] : value.items()) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += nlohmann::ordered_json(key).dump() + ": ";
    text += FormatOnOneLine(element);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

// Formats a value. `columns_before` is the number of columns that its first line has after the indentation.
std::string Wrap(const nlohmann::ordered_json& value, std::size_t indent, std::size_t columns_before) {
  std::string line = FormatOnOneLine(value);
  if (!value.is_structured() || indent + columns_before + line.size() + 1 <= kMaxColumns) return line;
  const std::string margin(indent + 2, ' ');
  std::string text;
  if (value.is_array() &&
      std::ranges::none_of(value, [](const auto& element) { return element.is_structured(); })) {
    // Put as many elements on each line as fit.
    std::size_t column = kMaxColumns;
    for (const auto& element : value) {
      const std::string word = element.dump();
      const bool fits = column + word.size() + 3 <= kMaxColumns;
      if (!text.empty()) text += fits ? ", " : ",\n";
      if (!fits) column = margin.size();
      text += (fits ? "" : margin) + word;
      column += word.size() + 2;
    }
    return "[\n" + text + "\n" + std::string(indent, ' ') + "]";
  }
  for (const auto& [key, element] : value.items()) {
    if (!text.empty()) text += ",\n";
    const std::string name = value.is_object() ? nlohmann::ordered_json(key).dump() + ": " : "";
    text += margin + name + Wrap(element, indent + 2, name.size());
  }
  const std::string end(indent, ' ');
  return value.is_object() ? "{\n" + text + "\n" + end + "}" : "[\n" + text + "\n" + end + "]";
}

}  // namespace

std::string WrapJson(const nlohmann::ordered_json& value) { return Wrap(value, 0, 0) + "\n"; }

namespace describe {

Schema TextSchema(const MemberInfo& info) {
  Schema schema;
  if (info.json) {
    schema["type"] = "object";
  } else if (info.choices.empty()) {
    schema["type"] = "string";
    if (info.non_empty) schema["minLength"] = 1;
  } else {
    schema["enum"] = SplitAt(info.choices, '|');
  }
  if (!info.pattern.empty()) schema["pattern"] = info.pattern;
  return info.or_null || info.json ? OrNull(std::move(schema)) : schema;
}

Schema NumberSchema(const char* type, std::optional<double> min, const MemberInfo& info) {
  Schema schema = {{"type", type}};
  const auto add_bound = [&](const char* key, const std::optional<double>& bound) {
    if (!bound || !std::isfinite(*bound)) return;
    if (*bound == std::floor(*bound)) {
      schema[key] = static_cast<std::int64_t>(*bound);
    } else {
      schema[key] = *bound;
    }
  };
  add_bound(info.exclusive ? "exclusiveMinimum" : "minimum", min);
  add_bound(info.exclusive ? "exclusiveMaximum" : "maximum", info.max);
  return schema;
}

Schema OrNull(Schema schema) {
  if (const auto any = schema.find("anyOf"); any != schema.end()) {
    if (any->back() != Schema{{"type", "null"}}) any->push_back({{"type", "null"}});
    return schema;
  }
  if (const auto type = schema.find("type"); type != schema.end()) {
    if (type->is_string() && *type != "null") *type = Schema::array({*type, "null"});
    return schema;
  }
  return {{"anyOf", Schema::array({std::move(schema), {{"type", "null"}}})}};
}

Schema Reference(const char* definition) { return {{"$ref", std::string("#/$defs/") + definition}}; }

Schema EmptyObject() {
  return {{"type", "object"},
          {"additionalProperties", false},
          {"required", Schema::array()},
          {"properties", Schema::object()}};
}

void AddMember(Schema& object, const char* key, Schema value, const MemberInfo& info) {
  if (!info.value.empty()) value["title"] = info.value;
  if (!info.meaning.empty()) value["description"] = info.meaning;
  object["properties"][key] = std::move(value);
  if (!info.omit_if_empty) object["required"].push_back(key);
  if (!info.present_with.empty()) object["dependentRequired"][key] = Schema::array({info.present_with});
}

void AddAllOrNone(Schema& object, const Schema& part, const MemberInfo& info) {
  const Schema& keys = part["required"];
  object["properties"].update(part["properties"]);
  for (const Schema& key : keys) {
    const auto name = key.get<std::string>();
    if (info.or_null) {
      object["properties"][name] = OrNull(std::move(object["properties"][name]));
      object["required"].push_back(key);
    } else {
      object["dependentRequired"][name] = key == keys.front() ? keys : Schema::array({keys.front()});
    }
  }
}

}  // namespace describe
}  // namespace etprof
